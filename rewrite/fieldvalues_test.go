package rewrite_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// TestSharedPlansAtOnce has statements make their plans of one shared plan from many goroutines at
// once, and one statement's plan read by all of them: each is the plan that the statement has by
// itself. The race detector sees to the rest.
func TestSharedPlansAtOnce(t *testing.T) {
	list := cases(t)
	r := rand.New(rand.NewPCG(5, 5))
	compared := 0
	for _, i := range r.Perm(len(list))[:200] {
		c := list[i]
		d := c.Dialects[r.IntN(len(c.Dialects))]
		s, own := planned(t, c, d)
		pl := planner(t, c, d)
		var o lex.Shape
		if !rewrite.ScanShape(pl.Dialect, &o, s.SQL, noNames(pl)) {
			continue
		}
		p := pl.Share(&o, own)
		if p == nil {
			continue
		}
		statements := []filledIn{{s.SQL, p.Of(&o), own}}
		for range 4 {
			sql := rewrite.Vary(&o, r, p.Known())
			var other lex.Shape
			if !rewrite.ScanShape(pl.Dialect, &other, sql, noNames(pl)) || string(other.Key) != string(o.Key) ||
				string(other.Known(nil, p.Known())) != string(o.Known(nil, p.Known())) {
				continue
			}
			want, err := pl.Plan(sql)
			if err != nil {
				t.Fatal(err)
			}
			statements = append(statements, filledIn{sql, p.Of(&other), want})
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				var o lex.Shape
				for _, f := range statements {
					rewrite.ScanShape(pl.Dialect, &o, f.sql, noNames(pl))
					for _, got := range []*rewrite.Plan{p.Of(&o), f.got} {
						if !rewrite.SamePlan(got, f.want) {
							t.Errorf("%s/%s %s:\n%s\n%s", c.Class, c.Name, d, f.sql, differ(reflect.ValueOf(got.Whole()), reflect.ValueOf(f.want), ""))
						}
					}
				}
			})
		}
		all.Wait()
		compared += len(statements)
	}
	if compared < 300 {
		t.Errorf("%d statements were compared", compared)
	}
}

// A shared plan gives no SQL for a statement of another one, or for none: it would run on another
// row.
func TestValuesOfAnotherPlan(t *testing.T) {
	pl := rewrite.Planner{Dialect: engines["sqlite"], Catalog: benchCatalog{benchPosts()}}
	filled := func(sql string) *rewrite.Plan {
		var o lex.Shape
		if !rewrite.ScanShape(pl.Dialect, &o, sql, noNames(&pl)) {
			t.Fatal(sql)
		}
		own, err := pl.Plan(sql)
		if err != nil {
			t.Fatal(err)
		}
		return pl.Share(&o, own).Of(&o)
	}
	one, other := filled("UPDATE posts SET views = views + 5 WHERE id = 7"), filled("UPDATE posts SET views = views - 5 WHERE id = 7")
	for name, values := range map[string]*rewrite.FieldValues{"another plan": other.Values, "none": nil} {
		for what, ask := range map[string]func(){
			"SQL":     func() { one.Increment.SQL.Of(values) },
			"literal": func() { one.Increment.Coalesced.Shares[0].Literal.Of(values) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("a plan has given a %s for the statement of %s", what, name)
					}
				}()
				ask()
			}()
		}
	}
	if one.Increment.SQL.Of(one.Values) == other.Increment.SQL.Of(other.Values) ||
		one.Increment.Coalesced.Shares[0].Literal.Of(one.Values) != 5 {
		t.Error("the statements have not their own")
	}
}
