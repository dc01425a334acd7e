package session

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// lastRead notes which form of a read was sent last. Estimates are asked for on connections of their own.
type lastRead struct {
	sqlmw.NullInterceptor

	mu         sync.Mutex
	candidates bool
	text       string
}

// sent returns the text of the last read, and whether it looks for candidates.
func (l *lastRead) sent() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text, l.candidates
}

func (l *lastRead) note(query string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(query, "products_slots") && !strings.HasPrefix(query, "EXPLAIN") {
		l.text = query
	}
	if strings.Contains(query, "SELECT id, CAST(") || strings.Contains(query, "SELECT id, CASE") {
		l.candidates = strings.Contains(query, "slotsql_w")
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

// A read that reads few rows without its bounds, or whose first rows are those of few, runs without candidates, and on
// MariaDB one whose bounds leave many of its rows, too; one of few rows of many runs with them. All are what plain gives: as
// text, with arguments and prepared, in a transaction and outside, before and after rows are counted over the bound.
func TestEstimatedReads(t *testing.T) {
	const config = "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\ntables: {products: {counters: {stock: {}}}}\n"
	type read struct {
		from, text string
		arg        int
		candidates bool
	}
	both := []read{
		{"WHERE stock > ?", "WHERE stock > 1990", 1990, true},
		{"WHERE stock IN (7, ?)", "WHERE stock IN (7, 8)", 8, true},
		{"WHERE seller = 7 AND stock > ?", "WHERE seller = 7 AND stock > 5", 5, false},
		{"WHERE stock > ? AND seller < 90", "WHERE stock > 1990 AND seller < 90", 1990, true},
		{"WHERE stock > ? AND id IN (3, 4, 5)", "WHERE stock > 3 AND id IN (3, 4, 5)", 3, false},
		{"WHERE seller = ? ORDER BY stock DESC, id LIMIT 3", "WHERE seller = 7 ORDER BY stock DESC, id LIMIT 3", 7, false},
		{"WHERE seller < ? ORDER BY stock DESC, id LIMIT 3", "WHERE seller < 90 ORDER BY stock DESC, id LIMIT 3", 90, true},
		{"WHERE seller <> ? ORDER BY stock DESC, id LIMIT 3", "WHERE seller <> 7 ORDER BY stock DESC, id LIMIT 3", 7, true},
		{
			"JOIN sellers ON no = seller WHERE name = ? ORDER BY stock DESC, id LIMIT 3",
			"JOIN sellers ON no = seller WHERE name = 7 ORDER BY stock DESC, id LIMIT 3", 7, false,
		},
		{
			"JOIN sellers ON no = seller WHERE name < ? ORDER BY stock DESC, id LIMIT 3",
			"JOIN sellers ON no = seller WHERE name < 90 ORDER BY stock DESC, id LIMIT 3", 90, true,
		},
	}
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			reads, numbers, analyze := both, server.Series(2000), "ANALYZE TABLE products, sellers"
			if dialect == "postgres" {
				numbers, analyze = "generate_series(1, 2000) AS s(seq)", "ANALYZE"
			} else {
				reads = slices.Concat(both, []read{
					{"WHERE stock > ?", "WHERE stock > 5", 5, false},
					{"WHERE stock BETWEEN 3 AND ?", "WHERE stock BETWEEN 3 AND 1800", 1800, false},
				})
			}
			var last lastRead
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE products (id INT PRIMARY KEY, seller INT NOT NULL, stock INT NOT NULL)",
					"CREATE TABLE sellers (no INT PRIMARY KEY, name INT NOT NULL)",
					"CREATE INDEX products_seller ON products (seller)",
					"CREATE INDEX products_stock ON products (stock)",
					"CREATE INDEX sellers_name ON sellers (name)",
					"INSERT INTO products SELECT seq, seq % 100, seq FROM " + numbers,
					"INSERT INTO sellers SELECT seq, seq FROM " + numbers + " WHERE seq <= 100",
					analyze,
				},
				Config: config,
				Open:   over(t, dialect, func(d driver.Driver) driver.Driver { return sqlmw.Driver(d, &last) }),
			})
			outside := twin.Sides{Plain: p.Plain, Wrapped: p.Wrapped}
			for round := range 2 {
				for _, r := range reads {
					check := func(form string, on twin.Sides, s twin.Statement) {
						t.Helper()
						compare(t, on, s)
						if _, candidates := last.sent(); candidates != r.candidates {
							t.Errorf("%s, %s, round %d: candidates %v, want %v", r.text, form, round, candidates, r.candidates)
						}
					}
					order := ""
					if !strings.Contains(r.text, "ORDER BY") {
						order = " ORDER BY id"
					}
					text := twin.Statement{SQL: "SELECT id, stock FROM products " + r.text + order}
					bound := twin.Statement{SQL: "SELECT id, stock FROM products " + r.from + order, Args: []any{r.arg}}
					if dialect == "postgres" {
						bound.SQL = strings.Replace(bound.SQL, "?", "$1", 1)
					}
					prepared := bound
					prepared.Prepared = true
					check("text", outside, text)
					check("argument", outside, bound)
					check("prepared", outside, prepared)
					plain, err := p.Plain.Begin()
					if err != nil {
						t.Fatal(err)
					}
					wrapped, err := p.Wrapped.Begin()
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
					update := fmt.Sprintf("UPDATE products SET stock = stock + 3 WHERE id = %d", id)
					compare(t, outside, twin.Statement{SQL: update})
				}
			}
		})
	}
}

// The totals of few rows are added up row by row. Of many rows, base values and slots are added up separately.
func TestEstimatedSums(t *testing.T) {
	const config = "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\ntables: {products: {counters: {stock: {}}}}\n"
	type sum struct {
		query string
		parts string // of the SQL that adds up separately; "" for totals
	}
	both := []sum{
		{"SELECT SUM(stock) FROM products WHERE seller = 7", ""},
		{"SELECT SUM(stock) FROM products WHERE seller < 90", "slotsql_h"},
		{"SELECT seller, SUM(stock) FROM products WHERE seller IN (7, 8) GROUP BY seller ORDER BY seller", ""},
		{"SELECT seller % 3 AS s, SUM(stock) FROM products WHERE seller < 90 GROUP BY s ORDER BY s", "slotsql_h"},
		{"SELECT COUNT(*), AVG(stock) FROM products WHERE seller = 7 AND stock <> 107", ""},
		{"SELECT COUNT(*), AVG(stock) FROM products WHERE seller < 90 AND stock <> 107", "AS slotsql_d"},
		{"SELECT COUNT(*) FROM products WHERE seller < 90 AND stock <> 107", "AS slotsql_d"},
	}
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			sums, numbers, analyze := both, server.Series(2000), "ANALYZE TABLE products"
			if dialect == "postgres" {
				numbers, analyze = "generate_series(1, 2000) AS s(seq)", "ANALYZE"
			} else {
				sums = append(slices.Clone(both), sum{"SELECT COUNT(*) FROM products WHERE stock > 5", "AS slotsql_d"},
					sum{"SELECT COUNT(*) FROM products WHERE stock > 1990", "slotsql_w"})
			}
			var last lastRead
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE products (id INT PRIMARY KEY, seller INT NOT NULL, stock INT NOT NULL)",
					"CREATE INDEX products_seller ON products (seller)",
					"CREATE INDEX products_stock ON products (stock)",
					"INSERT INTO products SELECT seq, seq % 100, seq FROM " + numbers,
					analyze,
				},
				Config: config,
				Open:   over(t, dialect, func(d driver.Driver) driver.Driver { return sqlmw.Driver(d, &last) }),
			})
			sides := twin.Sides{Plain: p.Plain, Wrapped: p.Wrapped}
			for _, id := range []int{7, 107, 1990} {
				compare(t, sides, twin.Statement{SQL: fmt.Sprintf("UPDATE products SET stock = stock + 3 WHERE id = %d", id)})
			}
			for _, s := range sums {
				compare(t, sides, twin.Statement{SQL: s.query})
				sent, _ := last.sent()
				separately := strings.Contains(sent, "slotsql_h") || strings.Contains(sent, "AS slotsql_d") || strings.Contains(sent, "slotsql_w")
				if separately != (s.parts != "") || !strings.Contains(sent, s.parts) {
					t.Errorf("%s was sent as %s, want it with %q", s.query, sent, s.parts)
				}
			}
		})
	}
}
