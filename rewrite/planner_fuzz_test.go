package rewrite_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/internal/golden"
	"github.com/slotsql/slotsql/rewrite"
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
	for _, text := range hostile {
		f.Add(text)
		f.Add("UPDATE posts SET views = views + 1 WHERE id = 1 " + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<13 {
			return
		}
		pl, err := newPlanner(dialect, fuzzSchema[dialect], fuzzConfig[dialect])
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, dialect, pl, text)
	})
}

func FuzzPlannerMySQL(f *testing.F)    { fuzzPlanner(f, "mysql") }
func FuzzPlannerPostgres(f *testing.F) { fuzzPlanner(f, "postgres") }
func FuzzPlannerSQLite(f *testing.F)   { fuzzPlanner(f, "sqlite") }

var (
	fuzzTables = []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, slug VARCHAR(20) NOT NULL UNIQUE, title VARCHAR(20) NOT NULL, views INT NOT NULL, likes BIGINT)",
		"CREATE TABLE comments (id INT PRIMARY KEY, post_id INT NOT NULL, views INT NOT NULL)",
		"CREATE TABLE hits (page INT NOT NULL, day INT NOT NULL, n INT NOT NULL, PRIMARY KEY (page, day))",
		"CREATE TABLE orders (id INT PRIMARY KEY, total DECIMAL(12,2) NOT NULL)",
		"CREATE TABLE totals (n BIGINT NOT NULL)",
	}
	fuzzSchema = map[string][]string{
		"mysql": append(
			slices.Clone(fuzzTables),
			"CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, stock INT UNSIGNED NOT NULL)",
		),
		"postgres": fuzzTables,
		"sqlite":   fuzzTables,
	}
	fuzzConfig = map[string]string{"mysql": counters + "  items: {counters: {stock: {}}}\n", "postgres": counters, "sqlite": counters}
)

const counters = `tables:
  posts: {counters: {views: {}, likes: {}}}
  hits: {counters: {n: {}}}
  orders: {counters: {total: {}}}
  totals: {key: [], counters: {n: {}}}
`

func checkPlan(t *testing.T, dialect string, pl *rewrite.Planner, text string) {
	t.Helper()
	plan, err := pl.Plan(text)
	if err != nil {
		t.Fatalf("%v, although the catalog knows every table", err)
	}
	again, err := pl.Plan(text)
	if err != nil || golden.Print(text, plan, true) != golden.Print(text, again, true) {
		t.Fatalf("two plans of %q: %v\n%s\n%s", text, err, golden.Print(text, plan, true), golden.Print(text, again, true))
	}
	if !pl.Catalog.(*golden.Catalog).Mentions(text) && (plan.Class != rewrite.PassThrough || plan.Text != text) {
		t.Fatalf("no counter table is named in %q:\n%s", text, golden.Print(text, plan, false))
	}
	c := planCheck{t, pl.Dialect, dialect, text}
	c.plan(plan, text)
}

type planCheck struct {
	*testing.T
	d       rewrite.Dialect
	dialect string
	text    string
}

func (c *planCheck) plan(p *rewrite.Plan, text string) {
	c.Helper()
	if p.Class == rewrite.Multi {
		c.parts(p, text)
		return
	}
	inputs := c.inputs(text)
	args := func(what string, list []rewrite.Arg) {
		for _, a := range list {
			if !a.Slot && a.Index >= inputs || a.Index < 0 && a.Number == "" && a.Total == 0 {
				c.Errorf("%s takes argument %d of %d\n%s", what, a.Index+1, inputs, c.text)
			}
		}
	}
	own := func(what string, b rewrite.Bound) {
		args(what, b.Args)
		if n := c.inputs(b.SQL); n != len(b.Args) {
			c.Errorf("%s has %d placeholders for %d arguments\n%s\n%s", what, n, len(b.Args), b.SQL, c.text)
		}
		c.parses(what, b.SQL)
	}
	truncate := false
	for _, tok := range rewrite.Tokens(c.d.Lexis(), text)[:min(1, len(rewrite.Tokens(c.d.Lexis(), text)))] {
		truncate = strings.EqualFold(text[tok.Start:tok.End], "truncate")
	}
	if p.Text != text {
		switch {
		case p.Class != rewrite.Read && !truncate:
			c.Errorf("class %s changes the text %q to %q", p.Class, text, p.Text)
		case p.Read.Args != nil:
			own("the text", rewrite.Bound{SQL: p.Text, Args: p.Read.Args})
			used := map[int]bool{}
			for _, a := range p.Read.Args {
				used[a.Index] = true
				for more := a.Plus; more != nil; more = more.Plus {
					used[more.Index] = true
				}
			}
			for i := range inputs {
				if !used[i] && strings.IndexByte(text, '?') >= 0 {
					c.Errorf("argument %d is not used\n%s\n%s", i+1, p.Text, c.text)
				}
			}
		default:
			if got, want := c.placeholders(p.Text), c.placeholders(text); !slices.Equal(got, want) {
				c.Errorf("placeholders %q became %q\n%s", want, got, p.Text)
			}
		}
		if _, err := c.d.Parse(text); err == nil {
			c.parses("the changed text", p.Text)
		}
	}
	if p.Increment != nil {
		own("the increment", p.Increment.Bound)
		if p.Increment.Add != nil {
			own("the increment of a slot row", *p.Increment.Add)
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
		for _, g := range p.Increment.Given {
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
	if p.Read.Shape != nil {
		args("the query for types", p.Read.Shape.Args)
		if _, err := c.d.Parse(text); err == nil {
			c.parses("the query for types", p.Read.Shape.SQL)
		}
	}
}

// parses has the dialect's parser read a statement of ours.
func (c *planCheck) parses(what, sql string) {
	c.Helper()
	if _, err := c.d.Parse(sql); err != nil {
		c.Errorf("%s is rejected: %v\n%s\nmade of %q", what, err, sql, c.text)
	}
}

func (c *planCheck) placeholders(sql string) []string {
	var out []string
	for _, tok := range rewrite.Tokens(c.d.Lexis(), sql) {
		if tok.Kind == rewrite.ParamTok {
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

func (c *planCheck) parts(p *rewrite.Plan, text string) {
	c.Helper()
	if p.Text != text {
		c.Errorf("the text of several statements %q became %q", text, p.Text)
	}
	rest := text
	for _, part := range p.Parts {
		i := strings.Index(rest, part.Text)
		if i < 0 {
			c.Fatalf("part %q is not in the rest %q of %q", part.Text, rest, text)
		}
		if !noText.MatchString(rest[:i]) {
			c.Errorf("%q is in no part of %q", rest[:i], text)
		}
		rest = rest[i+len(part.Text):]
		c.plan(part.Plan, part.Text)
	}
	if len(p.Parts) > 0 && !noText.MatchString(rest) {
		c.Errorf("%q is in no part of %q", rest, text)
	}
}
