package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// DDL has the slot table, for its drain, and then waits for the base table. So a transaction that drains a row
// does not have the base table while it waits for the slot table, also by a prepared statement.
func TestDrainHasSlotTableFirst(t *testing.T) {
	for name, query := range map[string]string{
		"update": work[2], "lock": "SELECT views FROM posts WHERE id = 1 FOR UPDATE", "delete": "DELETE FROM posts WHERE id = 1 AND views < 0",
	} {
		t.Run(name, func(t *testing.T) {
			p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: always})
			one := twin.Conn(t, p.Wrapped)
			drain := func() error {
				tx, err := one.BeginTx(t.Context(), nil)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(t.Context(), query); err != nil {
					_ = tx.Rollback()
					return err
				}
				return tx.Commit()
			}
			for range 8 { // the server goes over to a generic plan
				execAll(t, p.Wrapped, work[0])
				if err := drain(); err != nil {
					t.Fatal(err)
				}
			}
			execAll(t, p.Wrapped, work[0])
			other := twin.Conn(t, p.Under)
			twin.ExecAll(t, other, "BEGIN", "LOCK TABLE posts_slots IN SHARE ROW EXCLUSIVE MODE")
			done := make(chan error, 1)
			go func() { done <- drain() }()
			if !p.UntilBlocked(t, done) {
				t.Fatal("the drain does not wait")
			}
			twin.ExecAll(t, other, "ALTER TABLE posts ADD COLUMN more INTEGER", "COMMIT")
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
