package drains

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestDeleteMeetsNewRow: a DELETE of several rows by their keys, whose counters are below a
// limit, waits for one of them. Meanwhile another one is inserted and counts to above the
// limit: it stays.
func TestDeleteMeetsNewRow(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for name, where := range map[string]string{"list": "page IN (5, 9)", "range": "page > 1"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newRowsPair(t, dialect)
				must := noError(t)
				if err := p.Wrapped.PingContext(t.Context()); err != nil { // makes the slot table
					t.Fatal(err)
				}
				options := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
				first, err := p.Under.BeginTx(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				must(first.Exec("UPDATE hits SET n = n + 1 WHERE page = 9"))
				done := make(chan error, 1)
				go func() {
					done <- func() error {
						tx, err := p.Wrapped.BeginTx(t.Context(), options)
						if err != nil {
							return err
						}
						defer func() { _ = tx.Rollback() }()
						if _, err := tx.Exec("DELETE FROM hits WHERE " + where + " AND n < 55"); err != nil {
							return err
						}
						return tx.Commit()
					}()
				}()
				p.UntilBlocked(t, done)
				must(first.Exec("INSERT INTO hits VALUES (5, 50)"))
				// What slotsql does for an increment, beside a drain that has not found the row.
				must(first.Exec("INSERT INTO hits_slots (page, slot, n) VALUES (5, 1, 10)"))
				must(first.Exec("INSERT INTO hits VALUES (7, 50)"))
				if err := first.Commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				var n int
				if err := p.Wrapped.QueryRow("SELECT n FROM hits WHERE page = 5").Scan(&n); err != nil || n != 60 {
					t.Errorf("page 5 has %d, want 60: %v", n, err)
				}
			})
		}
	})
}
