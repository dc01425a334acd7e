package session

import (
	"database/sql"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A DELETE by a counter's condition, alone and in transactions, beside increments in slots and on base rows, deletes a row
// when its total meets the condition and no earlier, with all that has been added to it: an
// increment that has affected the row has come before, and one that comes after affects none.
func TestDeleteByCounterBesideIncrements(t *testing.T) {
	const rows, enough = 12, 15
	onStock(t, rows, func(t *testing.T, p *twin.Pair, slotted *sql.DB) {
		var mu sync.Mutex
		counted := map[int]int{}
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 1))
				db := []*sql.DB{slotted, p.Wrapped, p.Under}[w%3]
				for n := range 120 {
					if w < 2 && n%3 == 0 {
						if err := again(func() error {
							return maybeInTx(t.Context(), p.Wrapped, n%2 == w, func(e executor) error {
								_, err := e.ExecContext(t.Context(), "DELETE FROM stock WHERE n >= "+strconv.Itoa(enough)+" AND note = ''")
								return err
							})
						}); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					id, by := rnd.IntN(rows), 1+rnd.IntN(2)
					if rnd.IntN(3) == 0 {
						by = -1
					}
					var affected int64
					if err := again(func() error {
						res, err := db.ExecContext(t.Context(), "UPDATE stock SET n = n + "+strconv.Itoa(by)+" WHERE id = "+strconv.Itoa(100+id))
						if err == nil {
							affected, err = res.RowsAffected()
						}
						return err
					}); err != nil {
						t.Error(err)
						return
					}
					if affected > 0 {
						mu.Lock()
						counted[id] += by
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		deleted := 0
		for i := range rows {
			var total int
			switch err := slotted.QueryRow("SELECT n FROM stock WHERE id = " + strconv.Itoa(100+i)).Scan(&total); {
			case err == sql.ErrNoRows:
				if deleted++; counted[i] < enough {
					t.Errorf("row %d has been deleted with %d", i, counted[i])
				}
			case err != nil:
				t.Fatal(err)
			case total != counted[i]:
				t.Errorf("row %d has %d of %d", i, total, counted[i])
			}
		}
		if deleted == 0 {
			t.Error("no row has been deleted")
		}
		var orphans int
		if err := p.Under.QueryRow("SELECT COUNT(*) FROM stock_slots WHERE id NOT IN (SELECT id FROM stock)").Scan(&orphans); err != nil || orphans > 0 {
			t.Errorf("%d slot rows are left of deleted rows: %v", orphans, err)
		}
	})
}

// A statement by a counter's condition waits for a transaction that changes a row with slots, or
// counts in it, and judges the row by the total that it has then.
func TestByTotalsRowChanges(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		for name, c := range map[string]struct {
			by    int
			where string
			left  string
		}{"still": {-4, "base", "none"}, "no longer": {-8, "base", "13"}, "counted": {-8, "slot", "13"}} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, slotted := provable(t, dialect, "READ-COMMITTED")
				must := func(_ sql.Result, err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
				}
				must(p.Wrapped.Exec("INSERT INTO stock VALUES (100, 16, ''), (101, 14, '')"))
				must(slotted.Exec("UPDATE stock SET n = n + 5 WHERE id = 100"))
				if slots(t, p) != 1 {
					t.Fatal("there are no slots")
				}
				other, err := map[string]*sql.DB{"base": p.Under, "slot": slotted}[c.where].BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Rollback() //nolint:errcheck // it is committed
				must(other.Exec("UPDATE stock SET n = n + " + strconv.Itoa(c.by) + " WHERE id = 100"))
				done := make(chan error, 1)
				go func() {
					_, err := p.Wrapped.ExecContext(t.Context(), "DELETE FROM stock WHERE n >= 15 AND note = '' AND id + 0 > 99")
					done <- err
				}()
				p.UntilBlocked(t, done)
				if err := other.Commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				left := "none"
				if err := p.Wrapped.QueryRow("SELECT n FROM stock WHERE id = 100").Scan(&left); err != nil && err != sql.ErrNoRows {
					t.Fatal(err)
				}
				if left != c.left {
					t.Errorf("left is %s, not %s", left, c.left)
				}
			})
		}
	}
}

// slots counts the slot rows.
func slots(t *testing.T, p *twin.Pair) (n int) {
	t.Helper()
	if err := p.Under.QueryRow("SELECT COUNT(*) FROM stock_slots").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A statement by a counter's condition folds no row, where the engine can have it judge rows by totals,
// alone and in a transaction, and touches the rows that it touches with the plain driver.
func TestByTotalsFoldsNothing(t *testing.T) {
	for dialect, folds := range map[string]bool{"mysql": true, "postgres": false, "sqlite": false} {
		for name, inTx := range map[string]bool{"alone": false, "transaction": true} {
			t.Run(dialect+"/"+name, func(t *testing.T) { judgesBy(t, dialect, inTx, folds) })
		}
	}
}

func judgesBy(t *testing.T, dialect string, inTx, folds bool) {
	t.Parallel()
	p, slotted := provable(t, dialect, "")
	for range 3 {
		for _, id := range []string{"1", "2"} {
			if _, err := slotted.Exec("UPDATE stock SET n = n + 1 WHERE id = " + id); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := slots(t, p)
	for query, want := range map[string]int64{
		"UPDATE stock SET note = 'few' WHERE n < 3":                  1,
		"UPDATE stock SET note = 'some' WHERE n > 2 AND n < 400":     1,
		"UPDATE stock SET note = 'many' WHERE n BETWEEN 503 AND 504": 1,
	} {
		if err := maybeInTx(t.Context(), p.Wrapped, inTx, func(e executor) error {
			res, err := e.ExecContext(t.Context(), query)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); n != want || err != nil {
				t.Errorf("%s: %d rows, not %d: %v", query, n, want, err)
			}
			var n int
			if err := e.QueryRowContext(t.Context(), "SELECT n FROM stock WHERE id = 2").Scan(&n); err != nil || n != 503 {
				t.Errorf("row 2 has %d: %v", n, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if after := slots(t, p); before == 0 || (after < before) != folds {
		t.Errorf("%d slot rows, %d before", after, before)
	}
}

// A row whose total meets the condition by one counter, and which has slots of that one only, is found by it.
func TestByTotalsOfTwoCounters(t *testing.T) {
	t.Parallel()
	for layout, counters := range map[string]string{
		"dedicated": "{views: {}, likes: {}}",
		"journal":   "{views: {}, likes: {}}",
		"shared":    "{views: {record_type: 1}, likes: {record_type: 2}}",
	} {
		for _, dialect := range twin.Dialects {
			t.Run(dialect+"/"+layout, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, views INT NOT NULL, likes INT NOT NULL, title VARCHAR(9) NOT NULL)",
						"INSERT INTO posts VALUES (1, 5, 3, ''), (2, 5, 3, ''), (3, 5, 9, ''), (4, 50, 9, ''), (5, 50, 3, '')",
					},
					Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 8, placement: connection}\n" +
						"tables: {posts: {layout: " + layout + ", counters: " + counters + "}}\n",
				})
				for _, on := range []twin.Session{p.Plain, p.Wrapped} {
					twin.ExecAll(t, on, "UPDATE posts SET likes = likes + 4 WHERE id = 1", "UPDATE posts SET likes = likes + 4 WHERE id = 5",
						"UPDATE posts SET views = views - 45 WHERE id = 4")
				}
				for _, q := range []string{
					"UPDATE posts SET title = 'both' WHERE views < 10 AND likes > 5",
					"UPDATE posts SET title = 'one' WHERE views > 20 OR likes BETWEEN 1 AND 4",
					"DELETE FROM posts WHERE likes > 5 AND views < 10",
				} {
					p.Same(t, twin.Statement{SQL: q})
					p.Same(t, twin.Statement{SQL: "SELECT id, views, likes, title FROM posts ORDER BY id"})
				}
			})
		}
	}
}
