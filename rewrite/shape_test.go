package rewrite_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

func noNames(pl *rewrite.Planner) func(string) bool {
	return func(s string) bool { return pl.Mentions(s) || strings.Contains(s, "set_config") }
}

// TestSharedPlans holds the plans that statements of one shape share against the plans that they have
// by themselves: for the statement of every golden case, and for others of its shape, with
// other literals, comments and white space.
func TestSharedPlans(t *testing.T) {
	shaped, shared, total := 0, 0, 0
	for _, c := range cases(t) {
		for _, d := range c.Dialects {
			s, own := planned(t, c, d)
			total++
			pl := planner(t, c, d)
			var o lex.Shape
			if !rewrite.ScanShape(pl.Dialect, &o, s.SQL, noNames(pl)) {
				continue
			}
			shaped++
			p := pl.Share(&o, own)
			if p == nil {
				continue
			}
			shared++
			known := string(o.Known(nil, p.Known()))
			key := string(o.Key)
			r := rand.New(rand.NewPCG(1, uint64(total)))
			var other lex.Shape // used again, as callers do
			var filled []filledIn
			for range 12 {
				sql := rewrite.Vary(&o, r, p.Known())
				if !rewrite.ScanShape(pl.Dialect, &other, sql, noNames(pl)) || string(other.Key) != key ||
					string(other.Known(nil, p.Known())) != known {
					continue
				}
				want, err := pl.Plan(sql)
				if err != nil {
					t.Fatal(err)
				}
				filled = append(filled, filledIn{sql, p.Of(&other), want})
			}
			for _, f := range filled { // not before all are there: none has anything of another
				if !rewrite.SamePlan(f.got, f.want) {
					t.Errorf("%s/%s %s:\n%s\nhas the shared plan\n%s", c.Class, c.Name, d, f.sql, differ(reflect.ValueOf(f.got.Whole()), reflect.ValueOf(f.want), ""))
					break
				}
			}
		}
	}
	if shaped < total*8/10 || shared < shaped*99/100 {
		t.Errorf("of %d statements %d have a shape, and %d share a plan", total, shaped, shared)
	}
}

// filledIn is a shared plan as a statement's own, beside the plan that this has by itself.
type filledIn struct {
	sql       string
	got, want *rewrite.Plan
}

// differ says where two plans differ.
func differ(a, b reflect.Value, path string) string {
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		return differ(a.Elem(), b.Elem(), path)
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if s := differ(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); s != "" {
				return s
			}
		}
		return ""
	case a.Kind() == reflect.Slice && a.Len() == b.Len():
		for i := range a.Len() {
			if s := differ(a.Index(i), b.Index(i), path+fmt.Sprintf("[%d]", i)); s != "" {
				return s
			}
		}
		return ""
	case a.Kind() == reflect.Map:
		return ""
	}
	if !a.Equal(b) {
		return fmt.Sprintf("%s: %v\nwant %v", path, a, b)
	}
	return ""
}

// spellings are tokens that may take the place of a literal, and mean something else.
var spellings = []string{
	"0", "-5", "- 5", "+5", "5", "007", "5.0", "5.50", "0.5", ".5", "5.", "5e1", "0x1F", "x'1F'", "b'1'", "E'a\\n'", "$$a$$", "N'a'", "_utf8mb4'a'", "U&'a'",
	"''", "'5'", "'a' 'b'", "'a'\n'b'", "'posts'", "\"a\"", "`a`", "NULL", "TRUE", "FALSE", "?", "$1", ":a", "@a", "/*! 5 */", "/*+ x */ 5", "(SELECT 5)",
	"5 /* slotsql: off */", "99999999999999999999", "123456789012", "5::int", "CAST(5 AS int)", "NOW(6)", "1_000", "2fa", "5 LIMIT 1", "5 ORDER BY 1", "id", "'2026-01-02'",
	"5 -- x\n", "5 # x\n", "5;", "5; SELECT 1", "'set_config'",
}

// edited writes something else in the place of a literal of a statement.
func edited(r *rand.Rand, lx *lex.Rules, sql string) string {
	tokens := lex.Tokens(lx, sql)
	var literals []lex.Token
	for _, t := range tokens {
		if t.Kind == lex.Number || t.Kind == lex.String || t.Kind == lex.Param {
			literals = append(literals, t)
		}
	}
	if len(literals) == 0 {
		return sql
	}
	t := literals[r.IntN(len(literals))]
	return sql[:t.Start] + spellings[r.IntN(len(spellings))] + sql[t.End:]
}

// TestShapesApart edits statements such that they may mean something else, and shares a plan
// with every other that has the same shape and the same known literals: it must be the plan that
// the statement has by itself.
func TestShapesApart(t *testing.T) {
	list := cases(t)
	r := rand.New(rand.NewPCG(7, 7))
	for range 1500 {
		c := list[r.IntN(len(list))]
		d := c.Dialects[r.IntN(len(c.Dialects))]
		s, _ := planned(t, c, d)
		pl := planner(t, c, d)
		plans, knownOf := map[string]*rewrite.SharedPlan{}, map[*rewrite.SharedPlan]string{}
		for range 12 {
			sql := edited(r, pl.Dialect.LexRules(), s.SQL)
			if r.IntN(2) == 0 {
				sql = edited(r, pl.Dialect.LexRules(), sql)
			}
			var o lex.Shape
			if !rewrite.ScanShape(pl.Dialect, &o, sql, noNames(pl)) {
				continue
			}
			own, err := pl.Plan(sql)
			if err != nil {
				t.Fatal(err)
			}
			key := string(o.Key)
			p, ok := plans[key]
			if !ok || p == nil || string(o.Known(nil, p.Known())) != knownOf[p] {
				if p = pl.Share(&o, own); p != nil {
					knownOf[p] = string(o.Known(nil, p.Known()))
				}
				plans[key] = p
				continue
			}
			if got := p.Of(&o); !rewrite.SamePlan(got, own) {
				t.Errorf("%s/%s %s:\n%s\nhas the plan of another\n%s", c.Class, c.Name, d, sql, differ(reflect.ValueOf(got.Whole()), reflect.ValueOf(own), ""))
			}
		}
	}
}

// FuzzShape plans two statements. Where they have one shape and the same known literals, the shared
// plan of the first, filled in for the second, is the plan that this has by itself; and their
// tokens are the same but for numbers and strings.
func FuzzShape(f *testing.F) {
	list := cases(f)
	for i, c := range list {
		for _, d := range c.Dialects {
			s, _ := planned(f, c, d)
			f.Add(uint16(i), d, s.SQL, s.SQL)
			f.Add(uint16(i), d, s.SQL, edited(rand.New(rand.NewPCG(1, uint64(i))), engines[d].LexRules(), s.SQL))
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, d, one, other string) {
		c := list[int(i)%len(list)]
		if !slices.Contains(c.Dialects, d) || len(c.Schema(d)) == 0 {
			return
		}
		pl := planner(t, c, d)
		var a, b lex.Shape
		if !rewrite.ScanShape(pl.Dialect, &a, one, noNames(pl)) || !rewrite.ScanShape(pl.Dialect, &b, other, noNames(pl)) ||
			string(a.Key) != string(b.Key) {
			return
		}
		lx := pl.Dialect.LexRules()
		tokens, others := lex.Tokens(lx, one), lex.Tokens(lx, other)
		if len(tokens) != len(others) {
			t.Fatalf("%q and %q have one shape", one, other)
		}
		for j, x := range tokens {
			y := others[j]
			if x.Kind != y.Kind || x.Kind != lex.Number && x.Kind != lex.String && one[x.Start:x.End] != other[y.Start:y.End] {
				t.Fatalf("%q and %q have one shape", one, other)
			}
		}
		own, err := pl.Plan(one)
		if err != nil {
			return
		}
		p := pl.Share(&a, own)
		if p == nil || string(a.Known(nil, p.Known())) != string(b.Known(nil, p.Known())) {
			return
		}
		want, err := pl.Plan(other)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Of(&b); !rewrite.SamePlan(got, want) {
			t.Errorf("%s:\n%s\nhas the plan of\n%s\n%s", d, other, one, differ(reflect.ValueOf(got.Whole()), reflect.ValueOf(want), ""))
		}
	})
}

// A vertical tab is white space to some engines, and an error to others: a statement that has one
// shares no plan.
func TestVerticalTab(t *testing.T) {
	for name, d := range engines {
		for gap, want := range map[string]bool{" ": true, "\f": true, "\v": false, " \v ": false, "/* \v */": false} {
			var o lex.Shape
			if got := rewrite.ScanShape(d, &o, "UPDATE hits SET"+gap+"n = n + 1", func(string) bool { return false }); got != want {
				t.Errorf("%s: with %q for a space the statement has a shape: %v", name, gap, got)
			}
		}
	}
}
