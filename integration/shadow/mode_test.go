// Package shadow holds the tests of modes: tables whose statements run as they
// are, with and without a look at what slotsql would do.
package shadow

import (
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// In short, what every test of this package uses.
var (
	each = twin.Each
	exec = twin.ExecAll
	rows = twin.Rows
)

// config is one of table posts with the given lines, and pages, which is on.
func config(posts string) string {
	return "version: 1\nauto_migrate: true\ntables:\n  posts: {counters: {views: , likes: }" + posts + "}\n  pages: {counters: {hits: }}\n"
}

// newPair has both tables on.
func newPair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Config: config(""), Schema: []string{
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, likes INTEGER, title VARCHAR(20))",
		"CREATE TABLE pages (id INTEGER PRIMARY KEY, hits BIGINT NOT NULL)",
		"CREATE TABLE authors (id INTEGER PRIMARY KEY, name VARCHAR(20))",
		"INSERT INTO posts VALUES (1, 10, 1, 'one'), (2, 20, NULL, 'two'), (3, 30, 3, 'three')",
		"INSERT INTO pages VALUES (1, 100), (2, 200)",
		"INSERT INTO authors VALUES (1, 'ann')",
	}})
}

func connector(t *testing.T, p *twin.Pair, text string, opts ...slotsql.Option) *slotsql.Connector {
	t.Helper()
	c, err := slotsql.Parse([]byte(golden.WithSlots(text)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return twin.ConnectorWith(t, p, c, opts...)
}

// open opens the wrapped side once more, with another configuration.
func open(t *testing.T, p *twin.Pair, text string) *sql.DB {
	t.Helper()
	return opened(t, connector(t, p, text, slotsql.WithLogger(slog.New(slog.DiscardHandler))))
}

func opened(t *testing.T, c *slotsql.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func is(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

const (
	count   = "UPDATE posts SET views = views + 1 WHERE id = 1"
	views   = "SELECT views FROM posts WHERE id = 1"
	inSlots = "SELECT COUNT(*) FROM posts_slots"
)

// A process for which a table is off or in shadow counts on the base row, and
// reads it; one for which it is on reads the total all the time. Which processes
// are which may change at any time, and in the end the plain driver reads the
// total.
func TestModes(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		on, shadow, off := p.Wrapped, open(t, p, config(", mode: shadow")), open(t, p, config(", mode: off"))
		exec(t, on, count, count)
		exec(t, shadow, count)
		exec(t, off, count)
		exec(t, p.Under, count)
		is(t, "on", rows(t, on, views), "15")
		for name, db := range map[string]*sql.DB{"shadow": shadow, "off": off, "plain": p.Under} {
			is(t, name, rows(t, db, views), "13")
		}
		// In the same statements a table that is on is as ever.
		exec(t, shadow, "UPDATE pages SET hits = hits + 1 WHERE id = 1")
		for name, db := range map[string]*sql.DB{"shadow": shadow, "off": off} {
			is(t, name, rows(t, db, "SELECT p.views, g.hits FROM posts p JOIN pages g ON g.id = p.id WHERE p.id = 1"), "13 101")
		}
		is(t, "pages below", rows(t, p.Under, "SELECT hits FROM pages WHERE id = 1"), "100")

		// A plain client that sets a counter sets its base value: what slots hold is added to it.
		exec(t, off, "UPDATE posts SET views = 50 WHERE id = 1")
		is(t, "set while slots hold 2", rows(t, on, views), "52")
		// One that decides by a counter decides by its base value.
		exec(t, off, "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= 51")
		is(t, "decided while slots hold 2", rows(t, on, views), "52")
		// One that changes a key takes the slots along.
		exec(t, on, "UPDATE posts SET views = views + 7 WHERE id = 2")
		exec(t, off, "UPDATE posts SET id = 9 WHERE id = 2")
		is(t, "under another key", rows(t, on, "SELECT views FROM posts WHERE id = 9"), "27")
		if dialect != "sqlite" {
			if _, err := off.ExecContext(t.Context(), "TRUNCATE TABLE posts"); err == nil {
				t.Error("a plain TRUNCATE has left slots behind")
			}
		}

		for _, mode := range []string{"shadow", "off"} {
			exec(t, on, count)
			c := connector(t, p, config(", mode: "+mode))
			report, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{})
			if err != nil || !report.Held || report.Moved() == 0 {
				t.Errorf("roll-up with mode %s: %+v, %v", mode, report, err)
			}
			exec(t, on, count)
			if _, err := slotsql.Drain(t.Context(), c, slotsql.DrainOptions{}); err != nil {
				t.Errorf("drain with mode %s: %v", mode, err)
			}
			is(t, "slots after a drain with mode "+mode, rows(t, p.Under, inSlots), "0")
		}
		for name, db := range map[string]*sql.DB{"on": on, "shadow": shadow, "off": off, "plain": p.Under} {
			is(t, name+" in the end", rows(t, db, views), "56")
		}
		// A delete takes the slots along, whichever session it comes from.
		exec(t, on, count)
		exec(t, off, "DELETE FROM posts WHERE id = 1")
		is(t, "slots of a deleted row", rows(t, p.Under, inSlots), "0")
	})
}

// Nothing is demanded for a table whose statements run as they are: not its
// slot table, nor the table itself.
func TestStart(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(t, p.Under, "DROP TABLE posts_slots")
		for _, mode := range []string{"shadow", "off"} {
			text := config(", mode: " + mode)
			db := open(t, p, text+"  absent: {counters: {n: }, mode: "+mode+"}\n")
			exec(t, db, count)
			is(t, mode, rows(t, db, "SELECT title FROM posts WHERE id = 1"), "one")
			if _, err := p.Under.ExecContext(t.Context(), inSlots); err == nil {
				t.Fatalf("mode %s has made a slot table", mode)
			}
			c := connector(t, p, text)
			status, err := slotsql.Check(t.Context(), c)
			if err != nil || len(status) != 2 || status[0].Mode != mode || !status[0].Missing || status[1].Mode != "on" ||
				status[1].Missing {
				t.Errorf("check: %+v, %v", status, err)
			}
			if r, err := slotsql.Drain(t.Context(), c, slotsql.DrainOptions{}); err != nil || len(r) != 1 {
				t.Errorf("drain: %+v, %v", r, err)
			}
			statements, err := slotsql.DDL(t.Context(), c)
			if has := strings.Contains(strings.Join(statements, "\n"), "posts_slots"); err != nil || has != (mode == "shadow") {
				t.Errorf("ddl with mode %s: %q, %v", mode, statements, err)
			}
		}
		if created, err := slotsql.Migrate(t.Context(), connector(t, p, config(", mode: off"))); err != nil || len(created) != 0 {
			t.Errorf("migrate creates %q, %v", created, err)
		}
		if created, err := slotsql.Migrate(t.Context(), connector(t, p, config(", mode: shadow"))); err != nil ||
			fmt.Sprint(created) != "[posts_slots]" {
			t.Errorf("migrate creates %q, %v", created, err)
		}
		is(t, "total", rows(t, p.Wrapped, views), "12")
		if _, err := slotsql.Drain(t.Context(), connector(t, p, config(", mode: off")), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		dropped, err := slotsql.MigrateDown(t.Context(), connector(t, p, config(", mode: off")))
		if err != nil || !strings.HasPrefix(fmt.Sprint(dropped), "[posts_slots pages_slots") {
			t.Errorf("migrate --down drops %q, %v", dropped, err)
		}
	})
}

// Explain says the mode, and for one in shadow what would become of the
// statement.
func TestExplainModes(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		for mode, shadow := range map[string]bool{"shadow": true, "off": false} {
			e, err := twin.Explain(t, connector(t, p, config(", mode: "+mode)), views)
			if err != nil || e.Class != "pass-through" || (e.Shadow != nil) != shadow ||
				!strings.Contains(strings.Join(e.Notes, "\n"), "posts has mode "+mode) {
				t.Fatalf("%+v, %v", e, err)
			}
			if again, err := slotsql.Explain(t.Context(), open(t, p, config(", mode: "+mode)), views); err != nil ||
				again.String() != e.String() {
				t.Errorf("%s\n%s\n%v", again, e, err)
			}
			if shadow && (e.Shadow.Class != "read" || !strings.Contains(e.String(), "\nWith mode on, "+e.Shadow.Verdict[:5])) {
				t.Errorf("%s", e)
			}
		}
	})
}
