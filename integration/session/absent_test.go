package session

import (
	"database/sql"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// later counts in slots from the first increment on, of tables that are not there yet.
const later = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8, placement: random}}\n"

func emptyPair(t *testing.T, dialect, config string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Config: config, Params: unprepared[dialect]})
}

// inSlots returns the sum of what slots hold.
func inSlots(t *testing.T, p *twin.Pair) int {
	t.Helper()
	return count(t, p.Under, "SELECT COALESCE(SUM(views), 0) FROM posts_slots")
}

// An application creates its tables itself, through slotsql.
func TestTablesCreatedByTheApplication(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := emptyPair(t, dialect, later)
		one, other := pinned(t, p), pinned(t, p)
		for _, q := range []string{"SELECT views FROM posts WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT 1"} {
			one.same(t, twin.Statement{SQL: q})
		}
		for _, q := range schema(dialect) {
			one.same(t, twin.Statement{SQL: q})
		}
		one.script(t, &other, work...)
		execAll(t, p.Wrapped, increment)
		if inSlots(t, p) == 0 {
			t.Error("nothing was counted in slots")
		}
		one.script(t, nil, "DROP TABLE posts")
		one.same(t, twin.Statement{SQL: schema(dialect)[0]})
		one.same(t, twin.Statement{SQL: schema(dialect)[1]})
		other.script(t, &one, work...)
	})
}

// They are created in a transaction, which is rolled back first.
func TestTablesCreatedInATransaction(t *testing.T) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := emptyPair(t, dialect, later)
			one, other := pinned(t, p), pinned(t, p)
			for _, end := range []string{"ROLLBACK", "COMMIT"} {
				one.same(t, twin.Statement{SQL: "BEGIN"})
				for _, q := range schema(dialect) {
					one.same(t, twin.Statement{SQL: q})
				}
				one.script(t, nil, work[:4]...)
				one.same(t, twin.Statement{SQL: end})
				other.same(t, twin.Statement{SQL: totals})
			}
			one.script(t, &other, work...)
			execAll(t, p.Wrapped, increment)
			if inSlots(t, p) == 0 {
				t.Error("nothing was counted in slots")
			}
		})
	}
}

// Another process creates the tables, through slotsql or without it: the very next
// statement that names one sees its totals.
func TestTablesCreatedByAnother(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, by := range []string{"wrapped", "plain"} {
			t.Run(by, func(t *testing.T) {
				p := emptyPair(t, dialect, later)
				idle := wrapped(t, p, later)
				for range 3 { // it has looked, has plans, and knows of no table
					if _, err := idle.ExecContext(t.Context(), increment); err == nil {
						t.Fatal("there is a table already")
					}
				}
				creator := p.Under
				if by == "wrapped" {
					creator = p.Wrapped
				}
				execAll(t, creator, schema(dialect)...)
				execAll(t, p.Wrapped, increment, increment)
				if n := count(t, idle, "SELECT views FROM posts WHERE id = 1"); n != 12 {
					t.Errorf("the other process reads %d, want 12", n)
				}
				if inSlots(t, p) != 2 {
					t.Errorf("slots hold %d, want 2", inSlots(t, p))
				}
				execAll(t, idle, increment, "UPDATE posts SET views = views * 2 WHERE id = 1", increment)
				if n := count(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); n != 27 {
					t.Errorf("%d, want 27", n)
				}
			})
		}
	})
}

// A transaction that is open when another process creates the table.
func TestTableComesDuringATransaction(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := emptyPair(t, dialect, later)
		execAll(t, p.Wrapped, "CREATE TABLE log (id INTEGER PRIMARY KEY)")
		begun, err := wrapped(t, p, later).BeginTx(t.Context(), &sql.TxOptions{Isolation: map[string]sql.IsolationLevel{
			"mysql": sql.LevelReadCommitted, "postgres": sql.LevelReadCommitted}[dialect]})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = begun.Rollback() }()
		if dialect != "sqlite" { // where it would have its snapshot, and not see the table
			twin.Rows(t, begun, "SELECT COUNT(*) FROM log")
		}
		execAll(t, p.Wrapped, schema(dialect)[:2]...)
		execAll(t, p.Wrapped, increment)
		if got := twin.Rows(t, begun, "SELECT views FROM posts WHERE id = 1"); got != "11" {
			t.Errorf("the transaction reads %s, want 11", got)
		}
	})
}

// Columns of counters come one by one: the slot table is made with all of them.
func TestCountersCreatedOneByOne(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := emptyPair(t, dialect, later)
		one := pinned(t, p)
		for _, q := range []string{
			"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)", "INSERT INTO posts (id) VALUES (1), (2)",
			increment, "SELECT * FROM posts ORDER BY id",
			"ALTER TABLE posts ADD COLUMN likes INTEGER NOT NULL DEFAULT 0", "ALTER TABLE posts ADD COLUMN title VARCHAR(20)",
			increment, "UPDATE posts SET likes = likes + 1 WHERE id = 1", "SELECT * FROM posts ORDER BY id",
		} {
			one.same(t, twin.Statement{SQL: q})
		}
		if n := count(t, p.Under, "SELECT SUM(views + likes) FROM posts_slots"); n != 2 {
			t.Errorf("slots hold %d, want 2", n)
		}
		if err := wrapped(t, p, later).PingContext(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Without auto_migrate the table is plain until slotsql migrate has run, and is
// counted in slots by the next statement.
func TestTablesWithoutAutoMigrate(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		manual := strings.Replace(later, "auto_migrate: true\n", "", 1)
		p := emptyPair(t, dialect, manual)
		idle := wrapped(t, p, manual)
		if err := idle.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		one := pinned(t, p)
		for _, q := range schema(dialect) {
			one.same(t, twin.Statement{SQL: q})
		}
		one.script(t, nil, work[:3]...)
		if n := count(t, idle, "SELECT views FROM posts WHERE id = 1"); n == 0 {
			t.Error("no views")
		}
		c := twin.Connector(t, p)
		defer c.Close()
		if _, err := slotsql.Migrate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		before := count(t, idle, "SELECT views FROM posts WHERE id = 1")
		execAll(t, p.Wrapped, increment)
		if n := inSlots(t, p); n != 1 {
			t.Errorf("slots hold %d, want 1", n)
		}
		if n := count(t, idle, "SELECT views FROM posts WHERE id = 1"); n != before+1 {
			t.Errorf("%d, want %d", n, before+1)
		}
	})
}

// Two processes start at once on an empty database, and each creates what is missing.
func TestTwoProcessesCreateTables(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := emptyPair(t, dialect, later)
		create := strings.Replace(schema(dialect)[0], "CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1)
		execAll(t, p.Under, create) // two at once may fail in PostgreSQL itself
		execAll(t, p.Under, schema(dialect)[1], "DROP TABLE posts")
		dbs := []*sql.DB{wrapped(t, p, later), wrapped(t, p, later)}
		for _, db := range dbs {
			if err := db.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		execAll(t, p.Under, create, schema(dialect)[1])
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				if _, err := dbs[i%2].ExecContext(t.Context(), increment); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, db := range dbs {
			if n := count(t, db, "SELECT views FROM posts WHERE id = 1"); n != 26 {
				t.Errorf("%d, want 26", n)
			}
		}
	})
}

// A table that is missing is a warning when the program connects, and the creation is
// logged. With another problem beside it both are reported as errors.
func TestMissingTablesAreReported(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := emptyPair(t, dialect, later)
		var log syncBuffer
		c := twin.Connector(t, p, slotsql.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		db := sql.OpenDB(c)
		defer db.Close()
		for range 3 {
			if err := db.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := log.String(); strings.Count(got, "does not exist") != 1 || !strings.Contains(got, "table=posts") || !strings.Contains(got, "level=WARN") {
			t.Errorf("log: %s", got)
		}
		if _, err := slotsql.Check(t.Context(), c); err == nil || !strings.Contains(err.Error(), `"posts": does not exist`) {
			t.Errorf("check: %v", err)
		}
		execAll(t, db, schema(dialect)[:2]...)
		execAll(t, db, increment)
		if got := log.String(); !strings.Contains(got, "has been created") {
			t.Errorf("log: %s", got)
		}
		both := "version: 1\nauto_migrate: true\ntables: {posts: {counters: {nosuch: {}}}, none: {counters: {n: {}}}}\n"
		if err := wrapped(t, p, both).PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), `"none": does not exist`) {
			t.Errorf("error %v", err)
		}
	})
}

// The migrations of an application make its tables step by step. Nothing is logged of the
// definitions in between, which are right as they are; what stays is logged.
func TestMigrationsAreNotReported(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := emptyPair(t, dialect, later)
		var log syncBuffer
		c := twin.Connector(t, p, slotsql.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		db := sql.OpenDB(c)
		defer db.Close()
		for _, step := range []string{
			"CREATE TABLE posts (id INTEGER NOT NULL, title VARCHAR(40))",
			"DROP TABLE posts",
			"CREATE TABLE posts (id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(40))",
			"ALTER TABLE posts ADD COLUMN likes BIGINT NOT NULL DEFAULT 0",
			"INSERT INTO posts (id, title) VALUES (1, 'a')",
			"ALTER TABLE posts ADD COLUMN views BIGINT NOT NULL DEFAULT 0",
			increment,
		} {
			execAll(t, db, step)
			if !strings.HasPrefix(step, "DROP") {
				count(t, db, "SELECT COUNT(*) FROM posts") // reads the facts
			}
		}
		if got := log.String(); strings.Contains(got, "fits") || strings.Contains(got, "lacks") {
			t.Errorf("log: %s", got)
		}
	})
}
