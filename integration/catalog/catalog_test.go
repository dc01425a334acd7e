// Package catalog holds the tests of what slotsql asks of the database's catalog,
// when, and who waits for it.
package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/sqlite"
)

var engines = map[string]dialect.Dialect{"sqlite": sqlite.Dialect(), "mysql": mysql.Dialect(), "postgres": postgres.Dialect()}

func each(t *testing.T, f func(t *testing.T, dialect string)) {
	for d := range engines {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

const counters = 10

// config names the first n counter tables.
func config(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\nauto_migrate: true\ntables:\n")
	for i := range n {
		fmt.Fprintf(&b, "  c%d: {counters: {n: {}}, placement: random, slots: 4}\n", i)
	}
	return b.String()
}

// newPair has counter tables, whose slot tables are there, among others.
func newPair(t *testing.T, dialect string, others int) *twin.Pair {
	t.Helper()
	var schema []string
	for i := range counters {
		schema = append(
			schema,
			fmt.Sprintf("CREATE TABLE c%d (id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, CHECK (n > -1000))", i),
			fmt.Sprintf("INSERT INTO c%d (id) VALUES (1)", i),
		)
	}
	for i := range others {
		schema = append(schema, fmt.Sprintf("CREATE TABLE o%d (id INTEGER PRIMARY KEY, x INTEGER)", i))
	}
	p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema, Config: config(counters)})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens a database on a recorder, with the first n tables configured.
func open(t *testing.T, p *twin.Pair, r *recorder, n int) *sql.DB {
	t.Helper()
	c, err := slotsql.Parse([]byte(golden.WithSlots(config(n))), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.OpenDB(r, engines[p.Dialect], c, slotsql.WithoutHooks())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

const increment = "UPDATE c0 SET n = n + 1 WHERE id = 1"

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// Connecting asks the same number of queries for any number of configured tables,
// also among many others, and reads the columns once.
func TestQueriesDoNotGrowWithTables(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, 400)
		asked := map[int]int{}
		for _, n := range []int{2, counters} {
			r := parent(t, p)
			if err := open(t, p, r, n).PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			var readings int
			if asked[n], readings = r.asked(); readings != 1 {
				t.Errorf("%d tables: the columns were read %d times", n, readings)
			}
		}
		if asked[2] != asked[counters] {
			t.Errorf("2 tables took %d queries, %d took %d", asked[2], counters, asked[counters])
		}
	})
}

// DDL that concerns no table in use leaves the facts as they are.
func TestUnrelatedDDLReadsNothing(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, 2)
		r := parent(t, p)
		db := open(t, p, r, counters)
		exec(t, db, increment)
		r.asked()
		statements := []string{
			"CREATE TABLE other (id INTEGER PRIMARY KEY, x INTEGER)",
			"CREATE INDEX other_x ON other (x)",
			"ALTER TABLE other ADD COLUMN y INTEGER",
			"DROP TABLE other",
		}
		if dialect != "sqlite" {
			statements = append(statements, "TRUNCATE TABLE o0")
		}
		for _, q := range statements {
			exec(t, db, q, increment)
			exec(t, p.Under, strings.ReplaceAll(q, "other", "another"))
			exec(t, db, increment)
		}
		if _, readings := r.asked(); readings != 0 {
			t.Errorf("the columns were read %d times", readings)
		}
		exec(t, db, "ALTER TABLE c1 ADD COLUMN y INTEGER", increment)
		if _, readings := r.asked(); readings == 0 {
			t.Error("a change of a configured table has gone unnoticed")
		}
	})
}

// hurried runs increments whose deadlines all pass while facts are read.
func hurried(t *testing.T, db *sql.DB, deadline time.Duration) {
	t.Helper()
	done := make(chan error)
	const callers = 5
	for range callers {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, err := db.ExecContext(ctx, increment)
			done <- err
		}()
	}
	for range callers {
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	}
}

// untilRead is hurried until facts are being read, and once more then.
func untilRead(t *testing.T, db *sql.DB, r *recorder) {
	t.Helper()
	deadline := 50 * time.Millisecond // enough to open a connection, unless the machine is slow
	for readings := 0; readings == 0; _, readings = r.asked() {
		hurried(t, db, deadline)
		deadline *= 2
	}
	hurried(t, db, deadline)
}

// Callers whose deadlines pass while a first connection reads the facts do not undo
// its work: the next one has them.
func TestFirstReadingOutlivesItsCaller(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, 0)
		r := parent(t, p)
		db := open(t, p, r, counters)
		release := r.holdColumns()
		untilRead(t, db, r)
		release()
		exec(t, db, increment)
		if _, readings := r.asked(); readings != 0 {
			t.Errorf("the columns were read %d more times", readings)
		}
	})
}

// So it is when facts are read again.
func TestLaterReadingOutlivesItsCaller(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		if dialect == "sqlite" {
			return // it reads on the statement's own connection, in no time
		}
		p := newPair(t, dialect, 0)
		r := parent(t, p)
		db := open(t, p, r, counters)
		exec(t, db, increment, "ALTER TABLE c0 ADD COLUMN y INTEGER")
		release := r.holdColumns()
		r.asked()
		untilRead(t, db, r)
		release()
		exec(t, db, increment)
		if _, readings := r.asked(); readings != 0 {
			t.Errorf("the columns were read %d more times", readings)
		}
	})
}
