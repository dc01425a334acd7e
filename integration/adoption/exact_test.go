package adoption

import (
	"context"
	"database/sql"
	"fmt"
)

// exact compares all totals with what has been counted: likes and shares with the
// ledger, whose rows are written in the same transactions, views with what has been
// acknowledged. The clients rest meanwhile, for InnoDB keeps every version of a slot
// row as long as a snapshot of the whole table is read; roll-ups go on. (The auditor
// compares single rows while all others work.)
func (f *fleet) exact() {
	f.t.Helper()
	read := plain
	if !f.based.Load() {
		read = on
	}
	db := f.open(read)
	defer db.Close()
	views := make([]int64, f.rows+1)
	f.alone.Lock()
	defer f.alone.Unlock()
	tx, err := f.snapshot(f.t.Context(), db)
	for i := range views {
		views[i] = f.views[i].acknowledged.Load()
	}
	if err == nil {
		defer func() { _ = tx.Rollback() }()
		err = f.compare(f.t.Context(), tx, 1, f.rows, views)
	}
	if err != nil {
		f.t.Errorf("step %q: %v", f.step, err)
	}
}

// snapshot begins a transaction whose snapshot is made.
func (f *fleet) snapshot(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	var one int
	if err := tx.QueryRowContext(ctx, "SELECT 1 FROM ledger LIMIT 1").Scan(&one); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// compare reads rows and their ledger in one snapshot.
func (f *fleet) compare(ctx context.Context, tx *sql.Tx, first, last int, views []int64) error {
	type total struct{ id, views, likes, shares int64 }
	ledger := map[[2]int64]int64{}
	err := each(
		ctx,
		tx,
		f.sql("SELECT post, kind, SUM(n) FROM ledger WHERE post BETWEEN ? AND ? GROUP BY post, kind"),
		[]any{first, last},
		func(scan func(...any) error) error {
			var key [2]int64
			var n int64
			err := scan(&key[0], &key[1], &n)
			ledger[key] = n
			return err
		},
	)
	if err != nil {
		return err
	}
	found := 0
	err = each(
		ctx,
		tx,
		f.sql("SELECT id, views, likes, shares FROM posts WHERE id BETWEEN ? AND ?"),
		[]any{first, last},
		func(scan func(...any) error) error {
			var is total
			if err := scan(&is.id, &is.views, &is.likes, &is.shares); err != nil {
				return err
			}
			found++
			should := total{is.id, is.views, ledger[[2]int64{is.id, 1}], ledger[[2]int64{is.id, 2}]}
			if views != nil {
				should.views = is.id%5 + views[is.id]
			}
			if is != should {
				return fmt.Errorf("a row is %+v, and should be %+v", is, should)
			}
			return nil
		},
	)
	if rows := last - first + 1; err == nil && found != rows {
		err = fmt.Errorf("there are %d rows, and should be %d", found, rows)
	}
	return err
}

// each reads a query's rows.
func each(ctx context.Context, c conn, q string, args []any, row func(scan func(...any) error) error) error {
	rows, err := c.QueryContext(ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
