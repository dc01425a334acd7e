// Package groups holds the planner's groups against what they stand for: one statement
// for all members has to do what theirs do one after another.
package groups

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/rewrite"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

var dialects = map[string]dialect.Dialect{"mysql": mysql.New(), "postgres": postgres.New(), "sqlite": sqlite.New()}

// catalog is one table, every number of which is a counter.
type catalog struct{ *rewrite.Table }

func (c catalog) Counters() []*rewrite.Table { return []*rewrite.Table{c.Table} }

func (c catalog) Lookup(name []rewrite.Ident) (*rewrite.Table, bool) {
	if name[len(name)-1].Name == c.Name {
		return c.Table, true
	}
	return nil, true
}

func planner(t *testing.T, d dialect.Dialect, ddl string) *rewrite.Planner {
	t.Helper()
	tables, err := d.ParseSchema(ddl)
	if err != nil {
		t.Fatal(err)
	}
	table := tables[0]
	counters := []string{"n", "big", "small", "maybe", "cents"}
	table.Counter = &rewrite.Counter{
		Key: []string{"id"}, Counters: counters, Passive: counters, Counted: counters, Coalesce: true, SlotTable: "t_slots", SlotColumn: "slot",
	}
	return &rewrite.Planner{Dialect: d, Catalog: catalog{table}}
}

func open(t *testing.T, dialect, params string) *sql.DB {
	t.Helper()
	driver, dsn := "sqlite", ""
	switch dialect {
	case "mysql":
		driver, dsn = "mysql", server.MariaDB(t)+params
	case "postgres":
		driver, dsn = "pgx", server.Postgres(t)
	default:
		dsn = server.SQLite(t)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestGroups runs members that were drawn at random, one after another, and then the
// group's statement, from the same row. A group that affects the row has to leave the
// same row, with every member's own result; one that affects none or fails is split,
// which must not happen where all members would have succeeded.
func TestGroups(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		modes := map[string]string{"": ""}
		if dialect == "mysql" {
			modes["not strict"] = "?sql_mode=%27%27"
			modes["interpolated"] = "?interpolateParams=true"
			modes["found rows"] = "?clientFoundRows=true"
			modes["signed differences"] = "?sql_mode=%27STRICT_ALL_TABLES%2CNO_UNSIGNED_SUBTRACTION%27"
		}
		for mode, params := range modes {
			for _, unsigned := range []bool{false, true} {
				ddl := schema
				if unsigned {
					if dialect != "mysql" {
						continue
					}
					ddl = strings.NewReplacer("INT NOT NULL", "INT UNSIGNED NOT NULL", "maybe INT", "maybe INT UNSIGNED").Replace(schema)
				}
				if dialect == "sqlite" {
					ddl = strings.Replace(ddl, "DECIMAL(12,2)", "INT", 1)
				}
				db := open(t, dialect, params)
				twin.ExecAll(t, db, ddl)
				for _, f := range forms {
					if f.only != nil && !slices.Contains(f.only, dialect) {
						continue
					}
					name := fmt.Sprintf("%s/%s/unsigned=%v", f.name, mode, unsigned)
					t.Run(name, func(t *testing.T) {
						f.partly = f.partly || f.clamps && mode == "not strict"
						testForm(t, db, dialect, ddl, f)
					})
				}
			}
		}
	})
}

// rounds is how often a form is tried in each mode.
const rounds = 15

func testForm(t *testing.T, db *sql.DB, dialect, ddl string, f form) {
	d := dialects[dialect]
	text := numbered(d, f.sql)
	plan, err := planner(t, d, ddl).Plan(text)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Group == nil {
		t.Fatalf("no group: %s", plan.GroupReason)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	grouped, needless := 0, 0
	for i := 0; i < rounds || grouped == 0 && i < 20*rounds; i++ {
		row := drawRow(r, dialect)
		members := drawMembers(r, f, plan.Group)
		c := &run{t: t, db: db, f: f, text: text, group: plan.Group, row: row}
		own := c.alone(members)
		shared := c.together(members)
		if !shared.counted {
			all := !slices.ContainsFunc(own.results, func(x result) bool { return !x.counted })
			if all && len(members) == 1 {
				t.Fatalf("seed %d: %v, %v of %s: the one member succeeds, but not in a group\n%v", seed, row, members, f.sql, shared.err)
			}
			if all && !f.partly {
				needless++
				t.Errorf("seed %d: %v, %v: split, though all members succeed:\n%s\n%v", seed, row, members, plan.Group.SQL, shared.err)
			}
			continue
		}
		grouped++
		if got, want := fmt.Sprint(shared.row, shared.results), fmt.Sprint(own.row, own.results); got != want {
			t.Fatalf("seed %d: %v, %v of %s:\ngrouped %s\nplain   %s\n%s", seed, row, members, f.sql, got, want, plan.Group.SQL)
		}
	}
	if grouped == 0 {
		t.Errorf("seed %d: none of the groups counted", seed)
	}
}

func numbered(d rewrite.Dialect, text string) string {
	for i := 1; strings.Contains(text, "?"); i++ {
		text = strings.Replace(text, "?", strings.ReplaceAll(d.Placeholder(i), "?", "\x00"), 1)
	}
	return strings.ReplaceAll(text, "\x00", "?")
}

// outcome is what became of members, one after another or together.
type outcome struct {
	row     string
	results []result
	counted bool
	err     error
}

// result is that of one member.
type result struct {
	counted  bool
	insertID int64
	returned string
}

type run struct {
	t     *testing.T
	db    *sql.DB
	f     form
	text  string
	group *rewrite.Group
	row   []any
}

func (c *run) reset() {
	c.t.Helper()
	twin.ExecAll(c.t, c.db, "DELETE FROM t")
	q := "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	if strings.Contains(c.text, "$") {
		q = "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
	}
	if _, err := c.db.Exec(q, c.row...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *run) final() string {
	columns := c.f.columns
	if columns == "" {
		columns = "n, big, small, maybe, cents"
	}
	return twin.Rows(c.t, c.db, "SELECT "+columns+" FROM t ORDER BY id")
}

// exec runs a statement and returns its effect and the row of RETURNING.
func (c *run) exec(text string, args []any) (x result, values []any, err error) {
	if len(c.group.Returns) == 0 {
		res, err := c.db.Exec(text, args...)
		if err != nil {
			return x, nil, err
		}
		n, _ := res.RowsAffected()
		x.counted = n > 0
		x.insertID, _ = res.LastInsertId()
		if strings.Contains(c.text, "LAST_INSERT_ID") {
			return x, nil, nil
		}
		x.insertID = 0
		return x, nil, nil
	}
	rows, err := c.db.QueryContext(context.Background(), text, args...)
	if err != nil {
		return x, nil, err
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		x.counted = true
		values = make([]any, len(names))
		into := make([]any, len(names))
		for i := range into {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return x, nil, err
		}
	}
	return x, values, rows.Err()
}

func (c *run) alone(members [][]any) (o outcome) {
	c.reset()
	for _, args := range members {
		x, values, err := c.exec(c.text, args)
		x.returned = fmt.Sprint(values)
		x.counted = x.counted && err == nil
		o.results = append(o.results, x)
	}
	o.row = c.final()
	return o
}

// together runs the group's statement, by the definition of its fields.
func (c *run) together(members [][]any) (o outcome) {
	c.reset()
	g := c.group
	adds := make([][]int64, len(members)) // by member and share
	sums := make([]int64, len(g.Shares))
	bounds := make([]int64, len(g.Guards))
	for m, args := range members {
		for i, gd := range g.Guards {
			demand := number(gd.Literal, gd.Arg, args, g.Shares[gd.Share].Scale) - sums[gd.Share]
			if m == 0 || gd.AtLeast && demand > bounds[i] || !gd.AtLeast && demand < bounds[i] {
				bounds[i] = demand
			}
		}
		for i, s := range g.Shares {
			n := number(s.Literal, s.Arg, args, s.Scale)
			adds[m] = append(adds[m], n)
			sums[i] += n
		}
	}
	text := g.Bound
	if len(members) == 1 && g.One != nil {
		text = *g.One
	}
	var args []any
	for _, a := range text.Args {
		switch {
		case a.Total > 0:
			args = append(args, value(sums[a.Total-1], a.Negate, g.Shares[a.Total-1].Scale))
		case a.Bound > 0:
			args = append(args, value(bounds[a.Bound-1], a.Negate, g.Shares[g.Guards[a.Bound-1].Share].Scale))
		default:
			args = append(args, members[len(members)-1][a.Index])
		}
	}
	x, values, err := c.exec(text.SQL, args)
	o.err, o.counted = err, err == nil && x.counted
	if !o.counted {
		return o
	}
	o.row = c.final()
	o.results = make([]result, len(members))
	later := make([]int64, len(g.Shares))
	for m := len(members) - 1; m >= 0; m-- {
		own := result{counted: true}
		if g.InsertID > 0 {
			own.insertID = x.insertID - later[g.InsertID-1]
		}
		mine := slices.Clone(values)
		for i, s := range g.Returns {
			if s > 0 {
				mine[i] = less(values[i], later[s-1], g.Shares[s-1].Scale)
			}
		}
		own.returned = fmt.Sprint(mine)
		o.results[m] = own
		for i := range later {
			later[i] += adds[m][i]
		}
	}
	return o
}

func number(literal int64, arg *rewrite.Arg, args []any, scale int) int64 {
	if arg == nil {
		return literal
	}
	var n int64
	switch v := args[arg.Index].(type) {
	case int64:
		n = v
		for range scale {
			n *= 10
		}
	case string:
		n = units(v, scale)
	}
	if arg.Negate {
		n = -n
	}
	return n
}

func units(s string, scale int) int64 {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", scale-len(frac)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func value(n int64, negate bool, scale int) any {
	if negate {
		n = -n
	}
	if scale == 0 {
		return n
	}
	return decimal(n, scale)
}

func decimal(n int64, scale int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%0*d", scale+1, n)
	return sign + s[:len(s)-scale] + "." + s[len(s)-scale:]
}

func less(v any, later int64, scale int) any {
	switch v := v.(type) {
	case int64:
		return v - later
	case string:
		return decimal(units(v, scale)-later, scale)
	}
	return v
}

func drawRow(r *rand.Rand, dialect string) []any {
	small := func() int64 { return r.Int64N(30) }
	row := []any{int64(1), small(), 3 + small(), 32767 - small(), nil, decimal(r.Int64N(3000), 2), nil, "x", "a"}
	if dialect == "sqlite" {
		row[5] = small()
	}
	if r.IntN(3) > 0 {
		row[4] = small()
	}
	if r.IntN(4) > 0 {
		row[6] = small()
	}
	return row
}

// drawMembers draws executions that may share: what they add to a counter has one sign,
// and each adds something.
func drawMembers(r *rand.Rand, f form, g *rewrite.Group) (list [][]any) {
	id := int64(1 + r.IntN(2))
	sign, k, low := 1-2*r.Int64N(2), r.Int64N(5), r.Int64N(10)-5
	for range 1 + r.IntN(5) {
		var args []any
		for _, kind := range f.args {
			switch kind {
			case "id":
				args = append(args, int64(1))
			case "row":
				args = append(args, id)
			case "same 0 note":
				args = append(args, fmt.Sprint("k", id))
			case "add":
				args = append(args, sign*(1+r.Int64N(6)))
			case "take":
				args = append(args, 1+r.Int64N(6))
			case "large":
				args = append(args, 1+r.Int64N(8))
			case "few":
				args = append(args, k)
			case "low":
				args = append(args, low-r.Int64N(3))
			case "high":
				args = append(args, 20+r.Int64N(30))
			case "bound":
				args = append(args, r.Int64N(30))
			case "note":
				args = append(args, fmt.Sprint("note ", r.IntN(100)))
			case "cents":
				args = append(args, decimal(1+r.Int64N(600), 2))
			case "same 0":
				args = append(args, args[0])
			}
		}
		list = append(list, args)
	}
	return list
}
