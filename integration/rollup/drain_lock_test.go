package rollup

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A drain of a table does not lock rows without slots, and waits for no transaction that
// has locked them. (An UPDATE of the base table is another matter on MariaDB: because of the
// foreign key it has the slot table's metadata lock.)
func TestDrainLocksNoOtherRow(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, held := range []string{
			"SELECT * FROM posts WHERE id = 2 FOR UPDATE",
			"INSERT INTO posts VALUES (4, 0, 0, 0)",
			"SELECT * FROM posts_slots",
		} {
			t.Run(held, func(t *testing.T) {
				t.Parallel()
				p, plain := drainPair(t, dialect)
				execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
				tx, err := plain.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.ExecContext(t.Context(), held); err != nil {
					t.Fatal(err)
				}
				o := slotsql.DrainOptions{Tables: []string{"posts"}, Patience: time.Millisecond, Watch: time.Millisecond}
				reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), o)
				if err != nil || reports[0].Empty.IsZero() || reports[0].Refilled > 0 {
					t.Fatalf("beside %s: %+v, %v", held, reports, err)
				}
				if got := rows(t, p.Under, "SELECT views FROM posts WHERE id = 1"); got != "11" {
					t.Errorf("a base value of %s", got)
				}
				if got := rows(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); got != "0" {
					t.Errorf("%s slot rows", got)
				}
			})
		}
	})
}

// An account that may not lock tables can drain them, too.
func TestDrainWithoutLockTables(t *testing.T) {
	p, plain := drainPair(t, "mysql")
	c, err := mysql.ParseDSN(p.WrappedDSN)
	if err != nil {
		t.Fatal(err)
	}
	user := "drains_" + strconv.FormatUint(rand.Uint64(), 36)
	execAll(t, plain, "CREATE USER "+user+" IDENTIFIED BY 'secret'",
		"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER, REFERENCES, CREATE, ALTER ON `"+c.DBName+"`.* TO "+user)
	t.Cleanup(func() { _, _ = p.Under.Exec("DROP USER " + user) })
	execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
	c.User, c.Passwd = user, "secret"
	p.WrappedDSN = c.FormatDSN()
	reports, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{Tables: []string{"posts"}})
	if err != nil || reports[0].Empty.IsZero() || reports[0].Refilled > 0 {
		t.Fatalf("%+v, %v", reports, err)
	}
	if got := rows(t, p.Under, "SELECT views FROM posts WHERE id = 1"); got != "11" {
		t.Errorf("a base value of %s", got)
	}
}
