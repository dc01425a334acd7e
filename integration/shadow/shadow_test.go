package shadow

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// newTable is a pair with one counter table of the given name, which counts are
// told apart by, and pages, which is on.
func newTable(t *testing.T, dialect, name string) (p *twin.Pair, table string) {
	t.Helper()
	name = fmt.Sprintf("%s%d", name, tables.Add(1))
	return twin.New(t, twin.Options{Dialect: dialect, Config: configOf(name, "on", ""), Params: params[dialect], Schema: []string{
		"CREATE TABLE " + name + " (id INTEGER PRIMARY KEY, views INTEGER NOT NULL, likes INTEGER, title VARCHAR(20))",
		"CREATE TABLE pages (id INTEGER PRIMARY KEY, hits BIGINT NOT NULL)",
		"CREATE TABLE authors (id INTEGER PRIMARY KEY, name VARCHAR(20))",
		"INSERT INTO " + name + " VALUES (1, 10, 1, 'one'), (2, 20, NULL, 'two'), (3, 30, 3, 'three')",
		"INSERT INTO pages VALUES (1, 100), (2, 200)",
		"INSERT INTO authors VALUES (1, 'ann')",
	}}), name
}

var tables atomic.Int64

var params = map[string]string{"mysql": "multiStatements=true"}

func configOf(name, mode, more string) string {
	return "version: 1\nauto_migrate: true\ntables:\n  " + name + ": {counters: {views: , likes: }, mode: " + mode + "}\n  pages: {counters: {hits: }}\n" + more
}

const all = "shadow: {sample: 1}\n"

// logged is a place for logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// inShadow opens the wrapped side with the table in shadow, and every read
// compared.
func inShadow(t *testing.T, p *twin.Pair, name string) (*sql.DB, *logged) {
	t.Helper()
	log := &logged{}
	return opened(t, connector(t, p, configOf(name, "shadow", all), slotsql.WithLogger(slog.New(slog.NewTextHandler(log, nil))))), log
}

// counts sums what is counted of a table, over classes that match.
func counts(dialect, table, class string) (out slotsql.ShadowStats) {
	for _, s := range slotsql.Shadows() {
		if s.Dialect == dialect && slices.Contains(s.Tables, table) && regexp.MustCompile("^("+class+")$").MatchString(s.Class) {
			out.Statements += s.Statements
			out.Compared += s.Compared
			out.Differences += s.Differences
			out.Behind += s.Behind
			out.Undecided += s.Undecided
			out.NotCompared += s.NotCompared
			out.Failed += s.Failed
			out.Why += s.Why
		}
	}
	return out
}

// failed reports whether a comparison has failed for another reason than that the
// machine is slow.
func failed(c slotsql.ShadowStats) bool {
	return c.Failed > 0 && !strings.Contains(c.Why, "deadline")
}

// until waits for something that is bound to come.
func until(t *testing.T, db *sql.DB, what string, f func() bool) {
	t.Helper()
	for begun := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		// Where the shadow has no connection of its own it works when one is taken from the pool.
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Since(begun) > 5*time.Minute {
			var all []string
			for _, s := range slotsql.Shadows() {
				all = append(all, fmt.Sprintf("%+v", s))
			}
			t.Fatalf("%s does not come:\n%s", what, strings.Join(all, "\n"))
		}
	}
}

// Every statement runs as it is, and is counted by what would become of it.
func TestTally(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "tallied")
		db, log := inShadow(t, p, table)
		upsert := "INSERT INTO " + table + " (id, views) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = " + table + ".views + 1"
		if dialect == "mysql" {
			upsert = "INSERT INTO " + table + " (id, views) VALUES (1, 1) ON DUPLICATE KEY UPDATE views = views + 1"
		}
		const rounds = 3
		want := map[string]uint64{}
		for range rounds {
			for _, c := range []struct{ sql, class string }{
				{"UPDATE " + table + " SET views = views + 1 WHERE id = 1", "additive"},
				{"UPDATE " + table + " SET views = views + 1 WHERE id > 1", "additive-base"},
				{"UPDATE " + table + " SET views = 5 WHERE id = 2", "drain"},
				{"UPDATE " + table + " SET title = 'x' WHERE id = 3", "pass-through"},
				{upsert, "upsert"},
				{"SELECT views FROM " + table + " WHERE id = 1", "read"},
				{"SELECT title FROM " + table + " WHERE id = 1", "pass-through"},
				{"SELECT name AS " + table + "_too FROM authors", ""}, // another name
				{"SELECT name FROM authors WHERE name <> '" + table + "'", "pass-through"},
			} {
				if c.class != "" {
					want[c.class]++
				}
				plain, wrapped := twin.Run(t.Context(), p.Plain, twin.Statement{SQL: c.sql}), twin.Run(
					t.Context(),
					db,
					twin.Statement{SQL: c.sql},
				)
				for _, d := range twin.Compare(plain, wrapped) {
					t.Errorf("%s\n%s", d, c.sql)
				}
			}
			// Prepared ones are counted once, too.
			st, err := db.PrepareContext(t.Context(), "SELECT likes FROM "+table+" WHERE id = 3")
			if err != nil {
				t.Fatal(err)
			}
			is(t, "prepared", prepared(t, st), "3")
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			want["read"]++
		}
		until(t, db, "the count", func() bool {
			for class, n := range want {
				if counts(dialect, table, class).Statements < n {
					return false
				}
			}
			return true
		})
		for class, n := range want {
			if got := counts(dialect, table, class).Statements; got != n {
				t.Errorf("class %s: %d statements, want %d", class, got, n)
			}
		}
		until(t, db, "a comparison", func() bool {
			rows(t, db, "SELECT views FROM "+table+" WHERE id = 1")
			return counts(dialect, table, "read").NotCompared > 0
		})
		if c := counts(
			dialect,
			table,
			".*",
		); c.Differences+c.Failed+c.Compared > 0 || !strings.Contains(c.Why, table+"_slots does not exist") ||
			log.String() != "" {
			t.Errorf("%+v\n%s", c, log)
		}
		if _, err := p.Under.Exec("SELECT 1 FROM " + table + "_slots"); err == nil {
			t.Error("there is a slot table")
		}
	})
}

func prepared(t *testing.T, st *sql.Stmt) (s string) {
	t.Helper()
	if err := st.QueryRowContext(t.Context()).Scan(&s); err != nil {
		t.Error(err)
	}
	return s
}

// A rewritten read is the plain one while slots hold nothing, and one that is
// not is found.
func TestDifference(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "compared")
		db, log := inShadow(t, p, table)
		// slotsql migrate while it is in shadow, by the way it is done.
		if _, err := slotsql.Migrate(t.Context(), connector(t, p, configOf(table, "shadow", ""))); err != nil {
			t.Fatal(err)
		}
		reads := []struct {
			q    string
			args []any
		}{
			{"SELECT views FROM " + table + " WHERE id = ?", []any{1}},
			{"SELECT * FROM " + table + " ORDER BY id", nil},
			{"SELECT id, likes, views FROM " + table + " WHERE title = ?", []any{"one"}},
			{"SELECT SUM(views), COUNT(*) FROM " + table, nil},
			{"SELECT id, views FROM " + table + " WHERE views > ? ORDER BY views DESC LIMIT 2", []any{0}},
			{"SELECT c.views, p.hits FROM " + table + " c JOIN pages p ON p.id = c.id WHERE c.id = ?", []any{1}},
			{"SELECT a.name, (SELECT MAX(views) FROM " + table + ") AS top FROM authors a WHERE a.id = ?", []any{1}},
		}
		run := func(times int) {
			for range times {
				for _, r := range reads {
					rows(t, db, twin.Placeholders(dialect, r.q), r.args...)
				}
				if err := db.PingContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Until each has been compared once.
		n := uint64(len(reads))
		until(t, db, "a comparison", func() bool {
			run(1)
			return counts(dialect, table, "read").Compared > 6*n
		})
		if c := counts(dialect, table, ".*"); c.Differences+c.Undecided > 0 || failed(c) || log.String() != "" {
			t.Fatalf("%+v\n%s", c, log)
		}

		on := p.Wrapped // another process has the table on
		exec(t, on, "UPDATE "+table+" SET views = views + 20, likes = likes + 1 WHERE id = 1")
		is(t, "read", rows(t, db, "SELECT views FROM "+table+" WHERE id = 1"), "10")
		until(t, db, "a difference", func() bool {
			run(1)
			return counts(dialect, table, "read").Differences > 6*n
		})
		if c := counts(dialect, table, ".*"); c.Behind != c.Differences || failed(c) {
			t.Errorf("%+v", c)
		}
		text := log.String()
		for _, want := range []string{"a rewritten read returned a different result", "slots of " + table + "_slots are not empty",
			`column views: 10, but 30 when rewritten`, "SELECT views FROM " + table + " WHERE id"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in the log\n%s", want, text)
			}
		}

		if _, err := slotsql.Drain(t.Context(), connector(t, p, configOf(table, "shadow", "")), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil { // which ends what was asked for before
			t.Fatal(err)
		}
		settled := counts(dialect, table, "read")
		db, _ = inShadow(t, p, table)
		compared := func() uint64 { return counts(dialect, table, "read").Compared }
		until(t, db, "a comparison", func() bool {
			run(1)
			return compared() > settled.Compared+n
		})
		if c := counts(dialect, table, ".*"); c.Differences != settled.Differences || failed(c) {
			t.Errorf("after the drain: %+v, %+v", c, settled)
		}
	})
}

// Reads that are not run again, with the reason.
func TestNotCompared(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "unsafe")
		if err := p.Wrapped.PingContext(t.Context()); err != nil { // makes the slot table
			t.Fatal(err)
		}
		db, log := inShadow(t, p, table)
		chance := map[string]string{"mysql": "RAND()", "postgres": "random()", "sqlite": "random()"}[dialect]
		statements := []string{"SELECT " + chance + ", views FROM " + table}
		switch dialect {
		case "mysql":
			statements = append(
				statements,
				"SELECT @x, views FROM "+table,
				"SELECT LAST_INSERT_ID(views) FROM "+table,
				"SELECT GET_LOCK('x', 0), views FROM "+table,
			)
		case "postgres":
			exec(t, p.Under, "CREATE SEQUENCE seq")
			statements = append(statements, "SELECT nextval('seq'), views FROM "+table, "SELECT pg_advisory_lock(7), views FROM "+table)
		}
		for _, q := range statements {
			before := counts(dialect, table, "read").NotCompared
			until(t, db, q, func() bool {
				rows(t, db, q)
				return counts(dialect, table, "read").NotCompared > before
			})
		}
		if c := counts(dialect, table, ".*"); c.Compared+c.Failed+c.Differences > 0 || log.String() != "" {
			t.Errorf("%+v\n%s", c, log)
		}
	})
}

// A table in shadow that could not be on is no obstacle, and is reported once.
func TestUnfit(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "unfit")
		log := &logged{}
		text := "version: 1\ntables:\n  " + table + ": {counters: {nosuch: }, mode: shadow}\n"
		db := opened(t, connector(t, p, text, slotsql.WithLogger(slog.New(slog.NewTextHandler(log, nil)))))
		exec(t, db, "UPDATE "+table+" SET views = views + 1 WHERE id = 1")
		is(t, "count", rows(t, db, "SELECT views FROM "+table+" WHERE id = 1"), "11")
		until(t, db, "the log", func() bool { return strings.Contains(log.String(), "nosuch") })
		if n := strings.Count(log.String(), "nosuch"); n != 1 {
			t.Errorf("it is reported %d times:\n%s", n, log)
		}
		if _, err := slotsql.Check(t.Context(), connector(t, p, text)); err == nil || !strings.Contains(err.Error(), "slotsql.yaml:3: ") {
			t.Errorf("check says %v", err)
		}
	})
}
