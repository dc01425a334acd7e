package rewrite_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// The fuzz targets of the planner, one for each dialect, hold it to these
// rules, for any text:
//
//   - it does not panic, and the same statement gives the same plan
//   - a statement in which no counter table's name occurs (looked for by
//     strings.Contains) passes through with the identical text
//   - only reads and drains of TRUNCATE change the statement; a statement that the
//     dialect's parser, which is not ours, accepts is accepted after the
//     change, and so are all of slotsql's own statements
//   - a changed text takes the original's placeholders, all and in order, or
//     lists the arguments it takes
//   - every argument of a plan is one of the original's, and every text of
//     ours has as many placeholders as arguments
//   - the parts of a call of several statements lose nothing but semicolons,
//     white space and comments
func fuzzPlanner(f *testing.F, dialect string) {
	for _, c := range cases(f) {
		if !slices.Contains(c.Dialects, dialect) {
			continue
		}
		s, err := c.Statement(dialect)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.SQL)
	}
	for _, sql := range hostile {
		f.Add(sql)
		f.Add("UPDATE posts SET views = views + 1 WHERE id = 1 " + sql)
	}
	f.Add("0000000totAls 000000000;00$0")
	f.Add("UPDATE posts SET views = 1 WHERE id = $2; UPDATE posts SET views = 1 WHERE id = $0 + $3 + $2")
	f.Add("SELECT 0 FROM posts WHERE views=?8")
	pl := fuzzPlannerOf(f, dialect)
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 1<<13 {
			return
		}
		checkPlan(t, dialect, pl, sql)
	})
}

func FuzzPlannerMySQL(f *testing.F)    { fuzzPlanner(f, "mysql") }
func FuzzPlannerPostgres(f *testing.F) { fuzzPlanner(f, "postgres") }
func FuzzPlannerSQLite(f *testing.F)   { fuzzPlanner(f, "sqlite") }

var fuzzConfig = map[string]string{"mysql": counters + "  items: {counters: {stock: {}}}\n", "postgres": counters, "sqlite": counters}

// fuzzPlannerOf plans for the tables of testdata/tables/fuzz.sql.
func fuzzPlannerOf(t testing.TB, dialect string) *rewrite.Planner {
	t.Helper()
	schema, err := golden.Schema("testdata", "fuzz", dialect)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := newPlanner(dialect, schema, fuzzConfig[dialect])
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

const counters = `tables:
  posts: {counters: {views: {}, likes: {}}}
  hits: {counters: {n: {}}}
  orders: {counters: {total: {}}}
  totals: {key: [], counters: {n: {}}}
`

func checkPlan(t *testing.T, dialect string, pl *rewrite.Planner, sql string) {
	t.Helper()
	plan, err := pl.Plan(sql)
	if err != nil {
		t.Fatalf("%v, although the catalog knows every table", err)
	}
	printed := func(p *rewrite.Plan) string { return golden.Print(pl.Dialect.LexRules(), sql, p, true) }
	again, err := pl.Plan(sql)
	if err != nil || printed(plan) != printed(again) {
		t.Fatalf("two plans of %q: %v\n%s\n%s", sql, err, printed(plan), printed(again))
	}
	if !pl.Catalog.(*golden.Catalog).Mentions(sql) && (plan.Class != rewrite.PassThrough || plan.SQL != sql) {
		t.Fatalf("no counter table is named in %q:\n%s", sql, printed(plan))
	}
	c := planCheck{t, pl.Dialect, dialect, sql}
	c.plan(plan, sql)
}

// numbered finds a placeholder that may leave arguments before its own without use.
var numbered = regexp.MustCompile(`\?[0-9]`)

type planCheck struct {
	*testing.T
	d       rewrite.Dialect
	dialect string
	sql     string
}

func (c *planCheck) plan(p *rewrite.Plan, sql string) {
	c.Helper()
	if p.Class == rewrite.Multi {
		c.parts(p, sql)
		return
	}
	inputs := c.inputs(sql)
	args := func(what string, list []rewrite.Arg) {
		for _, a := range list {
			if !a.Slot && a.Index >= inputs || a.Index < 0 && a.Number == "" && a.Total == 0 {
				c.Errorf("%s takes argument %d of %d\n%s", what, a.Index+1, inputs, c.sql)
			}
		}
	}
	own := func(what string, b rewrite.Bound) {
		args(what, b.Args)
		if n := c.inputs(b.SQL.Of(nil)); n != len(b.Args) {
			c.Errorf("%s has %d placeholders for %d arguments\n%s\n%s", what, n, len(b.Args), b.SQL.Of(nil), c.sql)
		}
		c.parses(what, b.SQL.Of(nil))
	}
	truncate := false
	for _, tok := range lex.Tokens(c.d.LexRules(), sql)[:min(1, len(lex.Tokens(c.d.LexRules(), sql)))] {
		truncate = strings.EqualFold(sql[tok.Start:tok.End], "truncate")
	}
	if p.SQL != sql {
		switch {
		case p.Class != rewrite.Read && !truncate:
			c.Errorf("class %s changes the SQL %q to %q", p.Class, sql, p.SQL)
		case p.Read.Args != nil:
			own("the SQL", rewrite.Bound{SQL: rewrite.Whole(p.SQL), Args: p.Read.Args})
			used := map[int]bool{}
			for _, a := range p.Read.Args {
				used[a.Index] = true
				for more := a.Plus; more != nil; more = more.Plus {
					used[more.Index] = true
				}
			}
			for i := range inputs {
				if !used[i] && strings.IndexByte(sql, '?') >= 0 && !numbered.MatchString(sql) {
					c.Errorf("argument %d is not used\n%s\n%s", i+1, p.SQL, c.sql)
				}
			}
		default:
			if got, want := c.placeholders(p.SQL), c.placeholders(sql); !slices.Equal(got, want) {
				c.Errorf("placeholders %q became %q\n%s", want, got, p.SQL)
			}
		}
		if _, err := c.d.Parse(sql); err == nil {
			c.parses("the changed text", p.SQL)
		}
	}
	if p.Increment != nil {
		own("the increment", p.Increment.Bound)
		if p.Increment.Add != nil {
			own("the increment of a slot row", *p.Increment.Add)
		}
		if p.Increment.AddLocked != nil {
			own("the increment of a slot row in a transaction", *p.Increment.AddLocked)
		}
		if p.Increment.Asked != nil {
			own("the question behind an increment", *p.Increment.Asked)
			own("the companions of an increment", *p.Increment.Stated)
		}
		for _, k := range p.Increment.Key {
			args("a key", k.Args)
		}
		if co := p.Increment.Coalesced; co != nil {
			own("the coalesced increment", co.Upsert)
			if co.Add != nil {
				own("the coalesced increment of a slot row", *co.Add)
			}
			for _, s := range co.Shares {
				if s.Arg != nil {
					args("a share", []rewrite.Arg{*s.Arg})
				}
			}
		}
		for _, g := range p.Increment.Inserted {
			args("a given value", []rewrite.Arg{g.Arg})
		}
		for _, d := range p.Increment.Deltas {
			args("a delta", []rewrite.Arg{d.Arg})
		}
	}
	for _, d := range p.Base.Require {
		args("a bound", []rewrite.Arg{d.Arg})
	}
	for _, d := range p.Drain.Tables {
		for _, b := range append(slices.Clone(d.Lock), d.Fold...) {
			own("a drain of "+d.Table.Name, b)
		}
	}
	if p.Read.Types != nil {
		args("the query for types", p.Read.Types.Args)
		if _, err := c.d.Parse(sql); err == nil {
			c.parses("the query for types", p.Read.Types.SQL.Of(nil))
		}
	}
}

// parses has the dialect's parser read a statement of ours.
// settingsBefore are settings of MariaDB's that stand before a statement, which the parser does not know.
var settingsBefore = regexp.MustCompile(`(?is)^\s*SET\s+STATEMENT\s.*?\sFOR\s`)

func (c *planCheck) parses(what, sql string) {
	c.Helper()
	if _, err := c.d.Parse(settingsBefore.ReplaceAllString(sql, "")); err != nil {
		c.Errorf("%s is rejected: %v\n%s\nmade of %q", what, err, sql, c.sql)
	}
}

func (c *planCheck) placeholders(sql string) []string {
	var out []string
	for _, tok := range lex.Tokens(c.d.LexRules(), sql) {
		if tok.Kind == lex.Param {
			out = append(out, sql[tok.Start:tok.End])
		}
	}
	return out
}

// inputs is the number of arguments that a statement takes, counted as the drivers
// do.
func (c *planCheck) inputs(sql string) int {
	n, names := 0, map[string]bool{}
	for _, p := range c.placeholders(sql) {
		k, err := strconv.Atoi(strings.TrimLeft(p, "?$"))
		switch {
		case p == "?":
			n++
		case err == nil:
			n = max(n, k)
		case !names[p]:
			names[p] = true
			n++
		}
	}
	return n
}

var noText = regexp.MustCompile(`^(?s:\s|;|/\*.*?\*/|--[^\n]*(?:\n|\r|$)|#[^\n]*(?:\n|$)|\x{FEFF})*$`)

var leadingZeros = regexp.MustCompile(`\$0+([1-9])`)

// numberedAsBefore returns a part's statement with the numbers that its placeholders had in the call.
func (c *planCheck) numberedAsBefore(part rewrite.Part) string {
	var out strings.Builder
	end := 0
	for _, tok := range lex.Tokens(c.d.LexRules(), part.SQL) {
		n, err := strconv.Atoi(strings.TrimPrefix(part.SQL[tok.Start:tok.End], "$"))
		if tok.Kind == lex.Param && err == nil && n > 0 && n <= len(part.Numbers) {
			out.WriteString(part.SQL[end:tok.Start] + "$" + strconv.Itoa(part.Numbers[n-1]))
			end = tok.End
		}
	}
	return out.String() + part.SQL[end:]
}

func (c *planCheck) parts(p *rewrite.Plan, sql string) {
	c.Helper()
	if p.SQL != sql {
		c.Errorf("several statements %q became %q", sql, p.SQL)
	}
	rest := leadingZeros.ReplaceAllString(sql, "$$$1")
	for _, part := range p.Parts {
		written := leadingZeros.ReplaceAllString(c.numberedAsBefore(part), "$$$1")
		i := strings.Index(rest, written)
		if i < 0 {
			c.Fatalf("part %q is not in the rest %q of %q", part.SQL, rest, sql)
		}
		if !noText.MatchString(rest[:i]) {
			c.Errorf("%q is in no part of %q", rest[:i], sql)
		}
		rest = rest[i+len(written):]
		c.plan(part.Plan, part.SQL)
	}
	if len(p.Parts) > 0 && !noText.MatchString(rest) {
		c.Errorf("%q is in no part of %q", rest, sql)
	}
}
