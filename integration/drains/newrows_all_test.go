package drains

import (
	"database/sql"
	"testing"
)

// TestAllRowsMeetNewRow: on InnoDB a drain of all rows locks each of them, and at READ COMMITTED
// others may be inserted beside it, and counted in, before the statement runs. What the
// statement reads of them, and judges them by, is their totals.
func TestAllRowsMeetNewRow(t *testing.T) {
	for _, c := range []struct{ name, query, want string }{
		{"read", "SELECT n FROM hits WHERE n > 0 AND page + 0 = 5 FOR UPDATE", "60"},
		{"delete", "DELETE FROM hits WHERE n < 55", "60"},
	} {
		for name, level := range map[string]sql.IsolationLevel{"autocommit": -1, "transaction": sql.LevelReadCommitted} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newRowsPair(t, "mysql")
				must := noError(t)
				if err := p.Wrapped.PingContext(t.Context()); err != nil { // makes the slot table
					t.Fatal(err)
				}
				must(p.Under.Exec("INSERT INTO hits_slots (page, slot, n) VALUES (9, 1, 1)")) // without slots nothing is drained
				options := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
				var others [2]*sql.Tx
				for i := range others {
					tx, err := p.Under.BeginTx(t.Context(), options)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = tx.Rollback() }()
					others[i] = tx
				}
				must(others[0].Exec("UPDATE hits SET n = n + 1 WHERE page = 9"))
				done := make(chan error, 1)
				var got string
				go func() {
					done <- func() error {
						if level < 0 {
							return maybeQuery(p.Wrapped, c.query, &got)
						}
						tx, err := p.Wrapped.BeginTx(t.Context(), options)
						if err != nil {
							return err
						}
						defer func() { _ = tx.Rollback() }()
						if err := maybeQuery(tx, c.query, &got); err != nil {
							return err
						}
						return tx.Commit()
					}()
				}()
				p.UntilBlocked(t, done) // by row 9: the drain is past where row 5 will be
				must(others[1].Exec("INSERT INTO hits VALUES (5, 50)"))
				if err := others[0].Commit(); err != nil {
					t.Fatal(err)
				}
				if !p.UntilBlocked(t, done) { // by row 5, which the statement meets
					t.Error("the statement has not met the new row")
				}
				// What slotsql does for an increment.
				must(others[1].Exec("INSERT INTO hits_slots (page, slot, n) VALUES (5, 1, 10)"))
				if err := others[1].Commit(); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if c.name != "read" {
					if err := p.Wrapped.QueryRow("SELECT n FROM hits WHERE page = 5").Scan(&got); err != nil {
						t.Fatal(err)
					}
				}
				if got != c.want {
					t.Errorf("page 5 has %s, want %s", got, c.want)
				}
			})
		}
	}
}

// maybeQuery runs a statement, and reads the row that it returns if it is a query.
func maybeQuery(db interface {
	Exec(query string, args ...any) (sql.Result, error)
	QueryRow(query string, args ...any) *sql.Row
}, query string, got *string,
) error {
	if query[0] == 'S' {
		return db.QueryRow(query).Scan(got)
	}
	_, err := db.Exec(query)
	return err
}
