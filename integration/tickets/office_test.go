// Package tickets holds statements that draw numbers from leased blocks against the only
// rule that they have: none is given twice, unless its counter was set lower in between.
package tickets

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

func each(t *testing.T, f func(t *testing.T, dialect string)) {
	for _, d := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

// office is a table of queues, several processes that draw from it, and what they were given.
type office struct {
	t         *testing.T
	dialect   string
	p         *twin.Pair
	processes []*sql.DB

	mu     sync.Mutex
	drawn  []drawn
	resets []span
}

// span is from when until when something was under way.
type span struct{ from, to time.Time }

// drawn is a number that an execution was given.
type drawn struct {
	span
	n   int64
	how string
}

// open opens an office; of a block that ends in "beside slots" the table also has a counter in
// slots.
func open(t *testing.T, dialect, column, block string, processes int, schema ...string) *office {
	t.Helper()
	params := map[string]string{"sqlite": "_pragma=busy_timeout(20000)", "mysql": "", "postgres": ""}[dialect]
	block, beside := strings.CutSuffix(block, " beside slots")
	config := "version: 1\ntables: {queues: {counters: {next: {tickets: {block: " + block + "}}}, slots: 0}}\n"
	if beside {
		config = "version: 1\nauto_migrate: true\ntables: {queues: {counters: {next: {tickets: {block: " + block + "}}, views: {}}, slots: 8, placement: connection}}\n"
	}
	p := twin.New(t, twin.Options{Dialect: dialect, Params: params,
		Schema: append([]string{
			"CREATE TABLE queues (id INT PRIMARY KEY, next " + column + ", name VARCHAR(9), views INT NOT NULL DEFAULT 0)",
			"INSERT INTO queues (id, next, name) VALUES (1, 0, 'a')",
			"CREATE TABLE orders (queue INT NOT NULL, number NUMERIC(20) NOT NULL)",
		}, schema...),
		Config: config,
	})
	o := &office{t: t, dialect: dialect, p: p}
	for range processes {
		o.processes = append(o.processes, o.process())
	}
	return o
}

// process opens a connector of its own, which knows nothing of the others' blocks.
func (o *office) process() *sql.DB {
	o.t.Helper()
	db := sql.OpenDB(twin.Connector(o.t, o.p))
	db.SetMaxOpenConns(12)
	o.t.Cleanup(func() { _ = db.Close() })
	return db
}

type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// draw draws a number; sql.ErrNoRows where there is no row.
func (o *office) draw(ctx context.Context, db queryer, id int) (n int64, err error) {
	if o.dialect == "mysql" {
		res, err := db.ExecContext(ctx, "UPDATE queues SET next = LAST_INSERT_ID(next + 1) WHERE id = ?", id)
		if err != nil {
			return 0, err
		}
		if rows, err := res.RowsAffected(); err != nil || rows == 0 {
			return 0, sql.ErrNoRows
		}
		return res.LastInsertId()
	}
	err = db.QueryRowContext(ctx, o.sql("UPDATE queues SET next = next + 1 WHERE id = ? RETURNING next"), id).Scan(&n)
	return n, err
}

// upsert draws a number from a row, which it inserts if it is missing. MySQL has no RETURNING.
func (o *office) upsert(ctx context.Context, db queryer, id int) (n int64, err error) {
	query := "INSERT INTO queues AS t (id, next) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET next = t.next + 1 RETURNING next"
	switch {
	case o.dialect == "mysql" && server.MySQLVersion(o.t).MySQL:
		res, err := db.ExecContext(ctx, "INSERT INTO queues (id, next) VALUES (?, LAST_INSERT_ID(1)) "+
			"ON DUPLICATE KEY UPDATE next = LAST_INSERT_ID(next + 1)", id)
		if err != nil {
			return 0, err
		}
		return res.LastInsertId()
	case o.dialect == "mysql":
		query = "INSERT INTO queues (id, next) VALUES (?, 1) ON DUPLICATE KEY UPDATE next = next + 1 RETURNING next"
	}
	err = db.QueryRowContext(ctx, o.sql(query), id).Scan(&n)
	return n, err
}

func (o *office) sql(query string) string { return twin.Placeholders(o.dialect, query) }

// note remembers a number.
func (o *office) note(how string, from time.Time, n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drawn = append(o.drawn, drawn{span{from, time.Now()}, n, how})
}

// has reports whether so many numbers have been given.
func (o *office) has(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.drawn) >= n
}

// check holds all numbers against the rule.
func (o *office) check() {
	o.t.Helper()
	byNumber := map[int64][]drawn{}
	for _, d := range o.drawn {
		byNumber[d.n] = append(byNumber[d.n], d)
	}
	faults := 0
	for n, list := range byNumber {
		for i, a := range list {
			for _, b := range list[:i] {
				if !o.between(a.span, b.span) && !o.between(b.span, a.span) {
					if faults++; faults < 10 {
						o.t.Errorf("%d was given twice: %s at %v and %s at %v", n, a.how, a.from.Format("05.000"), b.how, b.from.Format("05.000"))
					}
				}
			}
		}
	}
}

// between reports whether the counter may have been set lower after a and before b.
func (o *office) between(a, b span) bool {
	for _, r := range o.resets {
		if !r.to.Before(a.from) && !b.to.Before(r.from) {
			return true
		}
	}
	return false
}

func (o *office) base() (n int64) {
	o.t.Helper()
	if err := o.p.Under.QueryRow("SELECT next FROM queues WHERE id = 1").Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	return n
}

func (o *office) exec(db queryer, query string) {
	o.t.Helper()
	if _, err := db.ExecContext(o.t.Context(), query); err != nil {
		o.t.Fatalf("%s: %v", query, err)
	}
}
