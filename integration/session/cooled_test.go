package session

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// MariaDB may find the row of an UPDATE by another index than its key, and lock the entry there first. The increment that folds the
// slots of a row that has cooled locks in the same order, so it does not deadlock with the increments of others.
func TestCooledRowIsLockedAsPlain(t *testing.T) {
	const table = "cooled_users"
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema: []string{
			"CREATE TABLE " + table + " (id INT PRIMARY KEY, quota INT NOT NULL, deleted_at DATETIME NULL, KEY by_deleted (deleted_at))",
			"INSERT INTO " + table + " VALUES (1, 0, NULL), (2, 0, NULL), (3, 0, NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: adaptive}\ntables: {" + table + ": {counters: {quota: {}}}}\n",
	})
	const count = "UPDATE " + table + " SET quota = quota + 1 WHERE id = 1 AND deleted_at IS NULL"
	awake := func() bool {
		for _, s := range slotsql.Sleeps() {
			if s.Table == table && s.Awake {
				return true
			}
		}
		return false
	}
	queue(t, p, count, awake)
	time.Sleep(9 * time.Second) // a row is hot for six seconds at most, and its slots are left alone for two more
	begin := func(db *sql.DB) *sql.Tx {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	holder := begin(p.Under)
	if _, err := holder.Exec(count); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	for i, tx := range []*sql.Tx{begin(p.Wrapped), begin(p.Under)} {
		go func() {
			_, err := tx.Exec(count)
			done <- errors.Join(err, tx.Commit())
		}()
		if untilBlocked(t, p, done); i > 0 {
			time.Sleep(300 * time.Millisecond) // so that the second one waits, too
		}
	}
	if err := errors.Join(holder.Commit(), <-done, <-done); err != nil {
		t.Error(err)
	}
}
