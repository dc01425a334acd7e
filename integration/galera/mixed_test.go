package galera

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"testing"
)

// visit counts a page in a transaction with an insert.
func visit(ctx context.Context, db *sql.DB, page int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := affectsOne(tx.ExecContext(ctx, inc, page)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO visits (page_id) VALUES (?)", page); err != nil {
		return err
	}
	return tx.Commit()
}

// Increments in transactions are those of the transactions that have been
// committed.
func TestTransactions(t *testing.T) {
	each(t, "", func(t *testing.T, d *database) {
		var c counted
		f := together(t, d, 20, func(db *sql.DB, _, _ int) error {
			err := visit(t.Context(), db, 1)
			if err == nil {
				c[1].Add(1)
			}
			return err
		})
		t.Logf("%d of %d have failed: %v", f.total(), clients*20, f)
		if f.other != nil {
			t.Errorf("failed: %v", f)
		}
		d.check(t, &c)
	})
}

// Increments, transactions, reads, and statements that drain, all at once.
// A drain is a write of the row itself, and may meet a conflict, as the plain
// statement may. What has been acknowledged is there, and nothing else.
func TestMixed(t *testing.T) {
	each(t, "", func(t *testing.T, d *database) {
		var c counted
		var increments failures
		f := together(t, d, 30, func(db *sql.DB, client, _ int) error {
			ctx, page := t.Context(), 1+rand.IntN(rows)
			switch n := rand.IntN(10); {
			case n < 5:
				err := affectsOne(db.ExecContext(ctx, inc, page))
				if err == nil {
					c[page].Add(1)
				} else {
					increments.add(err)
				}
				return err
			case n < 7:
				err := visit(ctx, db, page)
				if err == nil {
					c[page].Add(1)
				}
				return err
			case n < 8: // reads the counter to set it
				err := affectsOne(db.ExecContext(ctx, "UPDATE pages SET views = GREATEST(views, 0) + 3 WHERE id = ?", page))
				if err == nil {
					c[page].Add(3)
				}
				return err
			case n < 9:
				err := readAndSet(ctx, db, page)
				if err == nil {
					c[page].Add(1)
				}
				return err
			}
			var views int64
			return db.QueryRowContext(ctx, "SELECT views FROM pages WHERE id = ?", page).Scan(&views)
		})
		t.Logf("%d of %d have failed: %v; increments outside transactions: %v", f.total(), clients*30, f, &increments)
		if f.other != nil {
			t.Errorf("failed: %v", f)
		}
		d.check(t, &c)
	})
}

// readAndSet sets a counter to what it has read under a lock, and one more.
func readAndSet(ctx context.Context, db *sql.DB, page int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var views int64
	if err := tx.QueryRowContext(ctx, "SELECT views FROM pages WHERE id = ? FOR UPDATE", page).Scan(&views); err != nil {
		return err
	}
	if err := affectsOne(tx.ExecContext(ctx, "UPDATE pages SET views = ? WHERE id = ?", views+1, page)); err != nil {
		return err
	}
	return tx.Commit()
}

// A row that is deleted on one node while others count it goes with all of its
// slots, on all nodes; no increment of a row that has gone is acknowledged as
// one.
func TestDeletes(t *testing.T) {
	each(t, "", func(t *testing.T, d *database) {
		f := together(t, d, 30, func(db *sql.DB, client, time int) error {
			if client == 0 && time%5 == 4 {
				page := 1 + time/5
				if page > rows {
					return nil
				}
				_, err := db.ExecContext(t.Context(), "DELETE FROM pages WHERE id = ?", page)
				if err != nil {
					_, err = db.ExecContext(t.Context(), "DELETE FROM pages WHERE id = ?", page)
				}
				return err
			}
			_, err := db.ExecContext(t.Context(), inc, 1+rand.IntN(rows))
			return err
		})
		t.Logf("%d have failed: %v", f.total(), f)
		if f.other != nil {
			t.Errorf("failed: %v", f)
		}
		for node := range d.dsns { // until it has what the others have committed
			var n int
			if err := d.plain(t, node).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pages").Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
		for page := 1; page <= rows; page++ {
			if _, err := d.dbs[0].ExecContext(t.Context(), "DELETE FROM pages WHERE id = ?", page); err != nil {
				t.Fatal(err)
			}
		}
		for node := range d.dsns {
			db := d.plain(t, node)
			left := "SELECT COUNT(*) FROM pages"
			if d.wrapped {
				left = "SELECT (SELECT COUNT(*) FROM pages) + (SELECT COUNT(*) FROM pages_slots)"
			}
			var n int
			if err := db.QueryRowContext(t.Context(), left).Scan(&n); err != nil || n != 0 {
				t.Errorf("node %d: %d rows are left, %v", node+1, n, err)
			}
		}
	})
}
