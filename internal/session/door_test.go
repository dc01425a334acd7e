package session

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// The plan of a statement that names no counter table is found at once when it has come a few times, and planned anew once a counter
// table may have another name, with the same facts of tables.
func TestPlanHoldsUntilNewNames(t *testing.T) {
	t.Parallel()
	c, _, _ := shapeConn(t, postgres.New())
	const query = "SELECT id FROM users WHERE id = $1"
	plan := func() *plan {
		t.Helper()
		p, err := c.Plan(t.Context(), query)
		if err != nil || p.Class != rewrite.PassThrough {
			t.Fatal(p, err)
		}
		return p
	}
	for range 4 {
		plan()
	}
	before := cached(&c.Schema.Plans, query)
	if before == nil || plan() != before {
		t.Fatal("the plan is not found at once")
	}
	for range 4 {
		c.Shared.Untouched.Clear()
		if p := plan(); p == before {
			t.Fatal("a plan is used that was made before there were new names")
		}
	}
}

// Each event that makes a session rare sets a bit, and each that ends it clears the bit again, in the order in which they come.
func TestRare(t *testing.T) {
	t.Parallel()
	var done chan struct{}
	exec := func(query string) func(*Conn) {
		return func(c *Conn) {
			if _, err := c.ExecContext(t.Context(), query, nil); err != nil {
				t.Errorf("%s: %v", query, err)
			}
		}
	}
	query := func(c *Conn) {
		if _, err := c.QueryContext(t.Context(), "SELECT id FROM users", nil); err != nil {
			t.Error(err)
		}
	}
	fails := func(c *Conn) { c.noteRan(c.Shared.untouchedPlan("SELECT 1"), errors.New("some error")) }
	reset := func(c *Conn) {
		if err := c.ResetSession(t.Context()); err != nil {
			t.Error(err)
		}
	}
	raw := func(c *Conn) { c.Unwrap() }
	leave := func(c *Conn) { done = make(chan struct{}); c.detached.leave(done) }
	attach := func(c *Conn) { close(done); c.detached.attach() }
	drew := func(c *Conn) { drew(c, 7) }
	type event = func(*Conn)
	for _, c := range []struct {
		name   string
		d      dialect.Dialect
		events []event
		want   link.Rare
	}{
		{"as opened", postgres.New(), nil, 0},
		{"a statement", postgres.New(), []event{exec("UPDATE users SET name = 'x'")}, 0},
		{"Raw", postgres.New(), []event{raw}, link.Lent | link.ChangedSettings},
		{"rows", postgres.New(), []event{query}, link.RowsOpen},
		{"rows, reset", postgres.New(), []event{query, reset}, 0},
		{"an error", postgres.New(), []event{fails}, link.TxNoted},
		{"an error, reset", postgres.New(), []event{fails, reset}, 0},
		{"BEGIN", mysql.New(), []event{exec("BEGIN")}, link.TxOpen | link.TxNoted},
		{"BEGIN, COMMIT", mysql.New(), []event{exec("BEGIN"), exec("COMMIT")}, 0},
		{"BEGIN, reset", mysql.New(), []event{exec("BEGIN"), reset}, link.TxDangling | link.TxNoted},
		{"SET", postgres.New(), []event{exec("SET work_mem = '1MB'"), reset}, link.ChangedSettings | link.FactsOld},
		{"SET ROLE", postgres.New(), []event{exec("SET ROLE alice"), reset}, link.ChangedSettings | link.RoleSet | link.FactsOld},
		{"a statement outlives its caller", postgres.New(), []event{leave}, link.Detached},
		{"and ends", postgres.New(), []event{leave, attach}, 0},
		{"a number is owed", mysql.New(), []event{drew}, link.InsertIDOwed},
		{"and the pool has the session", mysql.New(), []event{drew, reset}, link.InsertIDPooled},
		{"and another one", mysql.New(), []event{drew, reset, drew}, link.InsertIDOwed},
		{"and it is set", mysql.New(), []event{drew, exec("SELECT LAST_INSERT_ID()")}, 0},
		{"CREATE TEMP TABLE", mysql.New(), []event{exec("CREATE TEMPORARY TABLE posts (id INT)")},
			link.ChangedSettings | link.FactsOld | link.TempTables},
		{"ALTER", mysql.New(), []event{exec("ALTER TABLE posts ADD x INT")}, link.FactsOld},
		{"ALTER in a transaction", sqlite.New(), []event{exec("BEGIN"), exec("ALTER TABLE posts ADD x INT")},
			link.TxOpen | link.FactsOld | link.FactsOwn | link.OwnPending | link.SchemaAltered | link.NamespaceAdrift},
		{"ALTER in a transaction, COMMIT", sqlite.New(), []event{exec("BEGIN"), exec("ALTER TABLE posts ADD x INT"), exec("COMMIT")}, link.FactsOld},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, _, _ := shapeConn(t, c.d)
			for _, e := range c.events {
				e(conn)
			}
			got := *conn.Rare &^ link.Unshared
			if c.want&link.TxNoted == 0 {
				got &^= link.TxNoted
			}
			if got != c.want {
				t.Errorf("bits %b, want %b", got, c.want)
			}
		})
	}
}
