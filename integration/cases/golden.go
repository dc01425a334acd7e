// Package cases runs the planner's golden cases on databases, plain and wrapped side by side.
package cases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/explain"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Run runs the golden cases in a directory that have a section for the dialect, after an increment of every
// counter of every row. All that a program sees must be the same, and so must the tables be
// afterwards. The plan made of the database's own facts must be the one in the file, and what
// happens to the slot table must be what a plan of that class does.
//
// A statement that an engine cannot run like the others says so with
// skip-e2e; once it runs like the others, the test fails until it no longer
// says so. So it is with the cases in which twin.Differs.
func Run(t *testing.T, dir, dialect string) {
	t.Helper()
	all, err := golden.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range grouped(t, all, dialect) {
		t.Run(fmt.Sprintf("%s-%d", dialect, i+1), func(t *testing.T) {
			t.Parallel()
			var shared *fixture
			for _, c := range g.cases {
				t.Run(c.Class+"/"+c.Name, func(own *testing.T) {
					f := shared
					if f == nil {
						f = g.open(t) // lives as long as the group
					}
					shared = nil // unless the case gets as far as to give it back
					if run(own, g, f, c) {
						shared = f
					}
				})
			}
		})
	}
}

// run runs a case, and reports whether the fixture is as it was. A statement that does more to
// a session or a schema than change rows has a fixture of its own.
func run(t *testing.T, g group, f *fixture, c *golden.Case) (restored bool) {
	t.Helper()
	s := statement(t, c, g.dialect)
	plan := f.plan(t, s)
	printed := golden.Print(Dialects[g.dialect].LexRules(), s.SQL, plan, s.AllSteps)
	if want := c.Plan(g.dialect); printed != want {
		t.Errorf("with the facts of the database the plan is\n%s\nnot\n%s", printed, want)
	}
	st := twin.Statement{SQL: s.SQL, Args: s.Args}
	if s.Query {
		st.Mode = twin.Query
	}
	if plan.Class == rewrite.Refused {
		refused(t, f.Pair, st)
		return !t.Failed()
	}
	if other := f.served(t, s); other != nil {
		plan = other
	}
	alone := plan.Effects != 0 || s.SkipE2E != ""
	if alone {
		f = g.open(t)
	}
	ds := ways(t, f, plan, s, st)
	switch {
	case s.SkipE2E == "":
		for _, d := range ds {
			t.Error(d)
		}
	case len(ds) == 0 && !onMySQL(t, g.dialect):
		t.Errorf("runs like the others: take away %q", s.SkipE2E)
	default:
		t.Logf("%s: %v", s.SkipE2E, ds)
	}
	return alone || !t.Failed() && f.restore(t, g)
}

func statement(t *testing.T, c *golden.Case, dialect string) golden.Statement {
	t.Helper()
	s, err := c.Statement(dialect)
	if err != nil {
		t.Fatal(err)
	}
	if s.SkipE2E == "" {
		s.SkipE2E = twin.Differs(c.Class + "/" + c.Name)
	}
	return s
}

// ways runs a statement as programs do: alone, prepared, in a transaction that it commits; a
// query also several times with one prepared statement; and so in a process whose increments
// are adaptive. It has a plan of its own when it runs alone, and elsewhere one that it shares.
func ways(
	t *testing.T, f *fixture, plan *rewrite.Plan, s golden.Statement, st twin.Statement,
) (ds []twin.Difference) {
	t.Helper()
	drop := f.dropMade(t)
	several := strings.Contains(s.SQL, ";") // begins and ends transactions of its own
	for _, way := range []string{"alone", "prepared", "in a transaction", "prepared once", "cold", "cold in a transaction"} {
		p := f.Pair
		switch {
		case several && way != "alone" && way != "cold", way == "prepared once" && plan.Class != rewrite.Read:
			continue
		case strings.HasPrefix(way, "cold"):
			if p = f.adaptively(); p == nil {
				continue
			}
		}
		if way != "alone" && !several {
			st.SQL = sharing(t, p, s.SQL, way)
		}
		on, end := p.Outside()
		ds = append(ds, incrementAll(t, on, p, f.catalog)...)
		before := rawTables(t, p, f.catalog)
		st.Prepared = strings.HasPrefix(way, "prepared")
		st.Times = 0
		if way == "prepared once" {
			st.Times = 3
		}
		if strings.HasSuffix(way, "in a transaction") {
			on, end = p.Inside(t)
		}
		plain, wrapped := on.Run(t.Context(), st)
		ends := end(plain.Err == nil)
		for _, d := range append(twin.Compare(plain, wrapped), ends...) {
			d.What = way + ": " + d.What
			ds = append(ds, d)
		}
		if plain.Err != nil {
			t.Logf("%s: the plain driver says %v", way, plain.Err)
		}
		final, err := p.FinalTables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range final {
			d.What = way + ": " + d.What
			ds = append(ds, d)
		}
		if way == "alone" && plain.Err == nil {
			ds = append(ds, observe(plan.Class, s, plain, before, rawTables(t, p, f.catalog))...)
		}
		drop()
	}
	return ds
}

// sharing returns the statement with a comment, by which alone it differs from others that the
// wrapped side has planned.
func sharing(t *testing.T, p *twin.Pair, sql, way string) string {
	t.Helper()
	with := func(n int) string { return fmt.Sprintf("%s /* %s, %d */", sql, way, n) }
	for n := range 2 { // the second one makes the plan that the third one shares
		if _, err := explain.Explain(t.Context(), p.Wrapped, with(n)); err != nil {
			t.Fatal(err)
		}
	}
	return with(2)
}

// refused runs a statement on the wrapped side alone: the other one may block
// whichever session looks at its tables afterwards.
func refused(t *testing.T, p *twin.Pair, s twin.Statement) {
	t.Helper()
	var unsupported *slotsql.UnsupportedError
	if o := twin.Run(t.Context(), p.Wrapped, s); !errors.As(o.Err, &unsupported) {
		t.Errorf("not refused: %v", o.Err)
	}
	ds, err := p.FinalTables(t.Context())
	if err != nil || len(ds) > 0 {
		t.Errorf("after the refusal: %v, %v", ds, err)
	}
}

// incrementAll adds one to every counter of every row, by its key, through
// each side's own driver, and sets the companions along with it. It leaves out
// what is NULL or at its type's limit.
func incrementAll(t *testing.T, on twin.Sides, p *twin.Pair, catalog *golden.Catalog) (ds []twin.Difference) {
	t.Helper()
	for _, table := range catalog.Counters() {
		name := p.Quote(table.Name)
		if p.Dialect == "postgres" {
			name = p.Quote(table.Schema) + "." + name
		}
		var columns, where []string
		for i, k := range table.Counter.Key {
			columns = append(columns, p.Quote(k))
			mark := "?"
			if p.Dialect == "postgres" {
				mark = fmt.Sprintf("$%d", i+1)
			}
			where = append(where, p.Quote(k)+" = "+mark)
		}
		for _, c := range table.Counter.Counters {
			columns = append(columns, p.Quote(c))
		}
		rows := twin.Run(t.Context(), on.Plain, twin.Statement{SQL: "SELECT " + strings.Join(columns, ", ") + " FROM " + name})
		if rows.Err != nil {
			continue // the case has dropped it, or has left a transaction broken
		}
		for _, row := range rows.Sets[0].Rows {
			key := row[:len(where)]
			for i := len(where); i < len(row); i++ {
				if twin.Full(row[i], rows.Sets[0].Columns[i]) {
					continue
				}
				s := twin.Statement{
					SQL:  fmt.Sprintf("UPDATE %s SET %s = %[2]s + 1%s", name, columns[i], setCompanions(p, table)),
					Args: key,
				}
				if len(where) > 0 {
					s.SQL += " WHERE " + strings.Join(where, " AND ")
				}
				for _, d := range twin.Compare(on.Run(t.Context(), s)) {
					d.What = fmt.Sprintf("increment before it (%s %v): %s", s.SQL, key, d.What)
					ds = append(ds, d)
				}
			}
		}
	}
	return ds
}

// setCompanions writes assignments that ride in the slot row.
func setCompanions(p *twin.Pair, t *schema.Table) string {
	var b strings.Builder
	for _, co := range t.Counter.Companions {
		c, value := p.Quote(co.Column), "'two'"
		switch col := t.Column(co.Column); {
		case col.Numeric != schema.NotNumeric:
			value = "15"
		case strings.EqualFold(col.Type, "date"):
			value = "'2033-01-02'"
		case strings.HasPrefix(strings.ToLower(col.Type), "timestamp"), strings.HasPrefix(strings.ToLower(col.Type), "datetime"):
			value = "'2033-01-02 03:04:05'"
		}
		merge := map[schema.Merge]string{schema.Max: "GREATEST", schema.Min: "LEAST"}
		if p.Dialect == "sqlite" {
			merge = map[schema.Merge]string{schema.Max: "MAX", schema.Min: "MIN"}
		}
		if f := merge[co.Merge]; f != "" {
			value = f + "(" + c + ", " + value + ")"
		}
		fmt.Fprintf(&b, ", %s = %s", c, value)
	}
	return b.String()
}

// raw is what lies in a counter table and its slot table, not summed.
type raw struct{ base, slots string }

func rawTables(t *testing.T, p *twin.Pair, c *golden.Catalog) map[string]raw {
	t.Helper()
	out := map[string]raw{}
	for _, table := range slices.Concat(c.Grouped(), c.Counters()) {
		read := func(schema, name string) string {
			if name = p.Quote(name); p.Dialect == "postgres" {
				name = p.Quote(schema) + "." + name
			}
			rows, err := rowsOf(t.Context(), p.Under, name)
			if err != nil {
				return "gone"
			}
			return rows
		}
		out[table.Name] = raw{read(table.Schema, table.Name), read(table.Counter.SlotTable.Schema, table.Counter.SlotTable.Name)}
	}
	return out
}

// observe sees that a plan of the class has run: where the statement's work
// has gone tells them apart.
func observe(
	class rewrite.Class, s golden.Statement, plain twin.Outcome, before, after map[string]raw,
) (ds []twin.Difference) {
	wrong := func(what string, args ...any) { ds = append(ds, twin.Difference{What: fmt.Sprintf(what, args...)}) }
	base, slots := false, false
	for name := range before {
		base = base || before[name].base != after[name].base
		slots = slots || before[name].slots != after[name].slots
	}
	changed := plain.RowsAffected.Value > 0
	switch class {
	case rewrite.Additive, rewrite.Upsert:
		fellBack := base || !slots
		if changed && fellBack != (s.FallsBack != "") {
			wrong("base rows changed: %v, slots changed: %v, although \"falls back\" is %q", base, slots, s.FallsBack)
		}
	case rewrite.AdditiveBase:
		if changed && !base {
			wrong("an increment of the base table did not change it")
		}
	case rewrite.Read:
		if base && strings.HasPrefix(s.SQL, "INSERT INTO posts ") {
			base = false // new rows, made from totals
		}
		if base || slots {
			wrong("a read changed tables: base %v, slots %v", base, slots)
		}
	case rewrite.Drain:
		if !slots && s.FallsBack == "" {
			wrong("a drain left all slots as they were")
		}
	}
	return ds
}
