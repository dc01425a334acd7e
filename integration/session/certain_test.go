package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What an increment in a transaction does while others wait for the same row, and the
// transaction that has it rolls back. PostgreSQL may grant FOR KEY SHARE beside FOR
// UPDATE then (docs/design/locks.md), so that an increment would be made while a
// drain has the row.

// certainTables are the layouts and statements that make slot rows.
var certainTables = map[string]struct{ options, increment string }{
	"dedicated":        {"", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	"no foreign key":   {", foreign_keys: false", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	"two counters":     {"", "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1"},
	"random":           {", placement: random", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	"skip_locked":      {", placement: skip_locked", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	"journal":          {", layout: journal", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	"shared":           {", layout: shared", "UPDATE posts SET views = views + 1 WHERE id = 1"},
	"shared, two":      {", layout: shared", "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1"},
	"upsert":           {"", "INSERT INTO posts (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + excluded.views"},
	"by a unique key":  {"", "UPDATE posts SET views = views + 1 WHERE title = 'one'"},
	"with a predicate": {"", "UPDATE posts SET views = views + 1 WHERE id = 1 AND note IS NULL"},
}

// certain is one table with the clients that meet in it.
type certain struct {
	*testing.T
	p         *twin.Pair
	increment string
	watch     *sql.DB
}

// client is a session and the statement that it is running.
type client struct {
	c    *certain
	conn *sql.Conn
	pid  int
	done chan struct{}
	n    int64 // that a query of one number has returned
	err  error
}

func eachCertain(t *testing.T, f func(c *certain)) {
	for name, table := range certainTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := table.options
			if name != "random" && name != "skip_locked" {
				options += ", placement: connection"
			}
			views, likes := "{}", "{}"
			if name == "shared" || name == "shared, two" {
				views, likes = "{record_type: 1}", "{record_type: 2}"
			}
			p := twin.New(t, twin.Options{
				Dialect: "postgres",
				Schema: []string{
					"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0, title VARCHAR(20) UNIQUE, note VARCHAR(20))",
					"INSERT INTO posts (id, views, title) VALUES (1, 0, 'one')",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: " + views + ", likes: " + likes + "}, slots: 8" + options + "}}\n",
			})
			p.Wrapped.SetMaxOpenConns(0)
			f(&certain{T: t, p: p, increment: table.increment, watch: p.Under})
		})
	}
}

func (c *certain) open(db *sql.DB) *client {
	c.Helper()
	conn, err := db.Conn(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = conn.Close() })
	o := &client{c: c, conn: conn}
	if err := conn.QueryRowContext(c.Context(), "SELECT pg_backend_pid()").Scan(&o.pid); err != nil {
		c.Fatal(err)
	}
	return o
}

// exec runs statements that need not wait.
func (o *client) exec(statements ...string) {
	o.c.Helper()
	for _, query := range statements {
		if _, err := o.conn.ExecContext(o.c.Context(), query); err != nil {
			o.c.Fatalf("%s: %v", query, err)
		}
	}
}

// start begins a statement that may have to wait.
func (o *client) start(statement string, query bool) {
	o.done, o.n = make(chan struct{}), 0
	go func() {
		defer close(o.done)
		if query {
			o.err = o.conn.QueryRowContext(o.c.Context(), statement).Scan(&o.n)
			return
		}
		_, o.err = o.conn.ExecContext(o.c.Context(), statement)
	}()
}

// finished waits until the statement has ended, or waits for a lock, and reports
// whether it has ended.
func (o *client) finished() bool {
	o.c.Helper()
	for {
		select {
		case <-o.done:
			if o.err != nil {
				o.c.Fatal(o.err)
			}
			return true
		default:
		}
		var waits bool
		if err := o.c.watch.QueryRowContext(o.c.Context(),
			"SELECT COALESCE(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE pid = $1", o.pid).Scan(&waits); err != nil {
			o.c.Fatal(err)
		}
		if waits {
			return false
		}
	}
}

// ends waits for the statement's end.
func (o *client) ends() {
	o.c.Helper()
	if <-o.done; o.err != nil {
		o.c.Fatal(o.err)
	}
}

const rounds = 12

// A row is updated, and locked, by a transaction that rolls back. Who waits to lock it,
// and who waits to count in it, come one after the other.
func TestLockIsCertainOfRow(t *testing.T) {
	eachCertain(t, func(c *certain) {
		first, drain, count := c.open(c.p.Under), c.open(c.p.Wrapped), c.open(c.p.Wrapped)
		for range rounds {
			drain.exec("UPDATE posts SET views = 0 WHERE id = 1")
			first.exec("BEGIN", "UPDATE posts SET note = 'x' WHERE id = 1", "SELECT 1 FROM posts WHERE id = 1 FOR UPDATE")
			drain.exec("BEGIN")
			count.exec("BEGIN")
			drain.start("SELECT views FROM posts WHERE id = 1 FOR UPDATE", true)
			drain.finished()
			count.start(c.increment, false)
			count.finished()
			first.exec("ROLLBACK")
			for !drain.finished() && !count.finished() {
			}
			if drain.finished() && count.finished() {
				c.Fatal("an increment has been made while another transaction had the row locked FOR UPDATE")
			}
			want := int64(0)
			if count.finished() {
				want = 1
				count.exec("COMMIT")
				drain.ends()
				drain.exec("COMMIT")
			} else {
				drain.exec("COMMIT")
				count.ends()
				count.exec("COMMIT")
			}
			if drain.n != want {
				c.Fatalf("the locked row shows %d, want %d", drain.n, want)
			}
			c.total(1)
		}
	})
}

// The transaction that has updated the row rolls back, and another one updates it,
// before an increment has its lock: a drain of the new version waits for the increment.
func TestLockIsCertainOfVersion(t *testing.T) {
	eachCertain(t, func(c *certain) {
		first, second := c.open(c.p.Under), c.open(c.p.Under)
		drain, count := c.open(c.p.Wrapped), c.open(c.p.Wrapped)
		for range rounds {
			drain.exec("UPDATE posts SET views = 0 WHERE id = 1")
			first.exec("BEGIN", "UPDATE posts SET note = 'x' WHERE id = 1", "SELECT 1 FROM posts WHERE id = 1 FOR UPDATE")
			second.exec("BEGIN")
			second.start("UPDATE posts SET note = NULL WHERE id = 1", false)
			second.finished()
			count.exec("BEGIN")
			count.start(c.increment, false)
			count.finished()
			first.exec("ROLLBACK")
			for !second.finished() {
				if count.finished() { // it keeps others from changing the row
					count.exec("COMMIT")
					second.ends()
				}
			}
			counted := count.finished()
			second.exec("COMMIT")
			if !counted {
				count.ends()
			}
			drain.exec("BEGIN")
			drain.start("SELECT views FROM posts WHERE id = 1 FOR UPDATE", true)
			if drain.finished() && drain.n != 1 {
				c.Fatalf("the locked row shows %d while an increment is in flight", drain.n)
			}
			count.exec("COMMIT")
			drain.ends()
			drain.exec("COMMIT")
			if drain.n != 1 {
				c.Fatalf("the locked row shows %d", drain.n)
			}
			c.total(1)
		}
	})
}

// total looks for the row's total.
func (c *certain) total(want int64) {
	c.Helper()
	var n int64
	if err := c.p.Wrapped.QueryRowContext(c.Context(), "SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil || n != want {
		c.Fatalf("the total is %d, %v, want %d", n, err, want)
	}
}
