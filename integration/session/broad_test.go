package session

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// lastRead notes which form of a read was sent last.
type lastRead struct {
	sqlmw.NullInterceptor
	candidates bool
}

func (l *lastRead) note(query string) {
	if strings.HasPrefix(query, "SELECT id, CAST(") {
		l.candidates = strings.Contains(query, "slotsql_c)")
	}
}

func (l *lastRead) ConnQueryContext(
	ctx context.Context, c driver.QueryerContext, q string, args []driver.NamedValue,
) (context.Context, driver.Rows, error) {
	rows, err := c.QueryContext(ctx, q, args)
	if err == nil { // with arguments the parent has it prepared
		l.note(q)
	}
	return ctx, rows, err
}

func (l *lastRead) ConnPrepareContext(ctx context.Context, c driver.ConnPrepareContext, q string) (context.Context, driver.Stmt, error) {
	l.note(q)
	st, err := c.PrepareContext(ctx, q)
	return ctx, st, err
}

// A read whose bounds leave many of its rows, or that reads few rows without them, runs without
// candidates on MariaDB, one of few rows of many with them. Both are what plain gives: as text, with arguments and
// prepared, in a transaction and outside, before and after rows are counted over the bound.
func TestBroadReads(t *testing.T) {
	const config = "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\ntables: {products: {counters: {stock: {}}}}\n"
	p := twin.New(t, twin.Options{
		Dialect: "mysql",
		Schema: []string{
			"CREATE TABLE products (id INT PRIMARY KEY, seller INT NOT NULL, stock INT UNSIGNED NOT NULL, KEY (seller), KEY (stock))",
			"INSERT INTO products SELECT seq, seq % 100, seq FROM " + server.Series(2000),
			"ANALYZE TABLE products",
		},
		Config: config,
	})
	var last lastRead
	db, err := over(t, "mysql", func(d driver.Driver) driver.Driver { return sqlmw.Driver(d, &last) })("mysql", p.WrappedDSN, configOf(t, config))
	if err != nil {
		t.Fatal(err)
	}
	outside := twin.Sides{Plain: p.Plain, Wrapped: db}
	for round := range 2 {
		for _, c := range []struct {
			where, text string
			arg         int
			candidates  bool
		}{
			{"stock > ?", "stock > 5", 5, false},
			{"stock > ?", "stock > 1990", 1990, true},
			{"stock BETWEEN 3 AND ?", "stock BETWEEN 3 AND 1800", 1800, false},
			{"stock IN (7, ?)", "stock IN (7, 8)", 8, true},
			{"seller = 7 AND stock > ?", "seller = 7 AND stock > 5", 5, false},
			{"stock > ? AND seller < 90", "stock > 1990 AND seller < 90", 1990, true},
			{"stock > ? AND id IN (3, 4, 5)", "stock > 3 AND id IN (3, 4, 5)", 3, false},
		} {
			check := func(form string, on twin.Sides, s twin.Statement) {
				t.Helper()
				compare(t, on, s)
				if last.candidates != c.candidates {
					t.Errorf("%s, %s, round %d: candidates %v, want %v", c.text, form, round, last.candidates, c.candidates)
				}
			}
			text := twin.Statement{SQL: "SELECT id, stock FROM products WHERE " + c.text + " ORDER BY id"}
			bound := twin.Statement{SQL: "SELECT id, stock FROM products WHERE " + c.where + " ORDER BY id", Args: []any{c.arg}}
			prepared := bound
			prepared.Prepared = true
			check("text", outside, text)
			check("argument", outside, bound)
			check("prepared", outside, prepared)
			plain, err := p.Plain.Begin()
			if err != nil {
				t.Fatal(err)
			}
			wrapped, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			inside := twin.Sides{Plain: plain, Wrapped: wrapped}
			compare(t, inside, twin.Statement{SQL: "UPDATE products SET stock = stock + 2000 WHERE id = 5"})
			check("text in a transaction", inside, text)
			check("argument in a transaction", inside, bound)
			for _, tx := range []interface{ Rollback() error }{plain, wrapped} {
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, id := range []int{3, 7, 100, 1990} {
			compare(t, outside, twin.Statement{SQL: "UPDATE products SET stock = stock + 3 WHERE id = ?", Args: []any{id}})
		}
	}
}
