package session

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// parses counts the statements that the dialect's parser is given.
type parses struct {
	rewrite.Dialect
	n atomic.Int64
}

func (p *parses) Parse(query string) (*ast.Statement, error) {
	p.n.Add(1)
	return p.Dialect.Parse(query)
}

func shapeConn(t *testing.T, d dialect.Dialect) (*Conn, *catalog.Schema, *parses) {
	t.Helper()
	s, sc := benchShared(t, d, "connection")
	p := &parses{Dialect: d}
	sc.Planner.Dialect = p
	c, err := NewConn(t.Context(), s, idleConn{})
	if err != nil {
		t.Fatal(err)
	}
	return c, sc, p
}

// shapeStatements are statements by a number and a comment.
var shapeStatements = []func(n int, comment string) string{
	func(n int, c string) string {
		return fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = %d%s", 1+n%9, 1000000+n, c)
	},
	func(n int, c string) string {
		return fmt.Sprintf("SELECT%s id, title, views FROM posts WHERE id = %d AND title <> 'x%d'", cmp.Or(c, " "), 1000000+n, n)
	},
	func(n int, c string) string {
		return fmt.Sprintf("UPDATE posts SET views = %d WHERE id = %d%s", 1000000+n, 1000000+n, c)
	},
	func(n int, c string) string {
		return fmt.Sprintf("SELECT title FROM posts WHERE views > %d%s ORDER BY views DESC LIMIT 3", 1000000+n, c)
	},
	func(n int, c string) string { return fmt.Sprintf("DELETE FROM posts%s WHERE id = %d", c, 1000000+n) },
}

// Statements that differ in literals and comments get the plans that they would have by
// themselves, from many connections at once, and are hardly ever parsed.
func TestPlansByShape(t *testing.T) {
	for _, d := range []dialect.Dialect{mysql.New(), postgres.New(), sqlite.New()} {
		t.Run(d.Name(), func(t *testing.T) {
			c, sc, parsed := shapeConn(t, d)
			const each = 2000
			var wg sync.WaitGroup
			for w := range 4 {
				conn, err := NewConn(t.Context(), c.Shared, idleConn{})
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					own := rewrite.Planner{Dialect: &parses{Dialect: d}, Catalog: sc}
					r := rand.New(rand.NewPCG(1, uint64(w)))
					for range each {
						n := r.IntN(1_000_000)
						query := shapeStatements[r.IntN(len(shapeStatements))](n, fmt.Sprintf(" /*traceparent='00-%x-01'*/ ", r.Uint64()))
						p, err := conn.Plan(t.Context(), query)
						if err != nil {
							t.Error(err)
							return
						}
						if r.IntN(20) > 0 {
							continue
						}
						want, err := own.Plan(query)
						if err != nil || !reflect.DeepEqual(p.Whole(), want) || p.source != query {
							t.Errorf("%s\nhas the plan of another: %s (%v)", query, p.SQL, err)
							return
						}
					}
				})
			}
			wg.Wait()
			if n := parsed.n.Load(); n > 400 {
				t.Errorf("%d statements of %d shapes were parsed %d times", 4*each, len(shapeStatements), n)
			}
		})
	}
}

// What executions have shown of a statement holds for others of its shape.
func TestShapeLearns(t *testing.T) {
	c, _, _ := shapeConn(t, postgres.New())
	plan := func(n int) *plan {
		p, err := c.Plan(t.Context(), shapeStatements[0](n, ""))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plan(9)
	second, third := plan(18), plan(27)
	if second.learned != third.learned || second.habit == nil || second.habit != third.habit || second.tally != third.tally {
		t.Error("statements of one shape do not share what is learned")
	}
	if second.Increment.SQL.Of(second.Values) == third.Increment.SQL.Of(third.Values) {
		t.Error("statements of different rows have one increment")
	}
}

// Statements that come once each take no place in the cache; one that comes again does.
func TestShapeCache(t *testing.T) {
	c, sc, _ := shapeConn(t, sqlite.New())
	hot := shapeStatements[0](1, "")
	for n := range 3 * catalog.MaxCachedPlans {
		query := shapeStatements[0](n+2, "")
		if _, err := c.Plan(t.Context(), query); err != nil {
			t.Fatal(err)
		}
		if n > 1 && sc.Plans.Get(query) != nil {
			t.Fatalf("a statement that has come once is cached: %s", query)
		}
		if n%1000 == 0 {
			if _, err := c.Plan(t.Context(), hot); err != nil {
				t.Fatal(err)
			}
		}
	}
	if sc.Plans.Get(hot) == nil {
		t.Error("a statement that comes again and again is not cached")
	}
}

// A statement that comes now and then is planned once, whatever others fill the cache meanwhile:
// literals of one shape, new shapes, and statements that name no counter table.
func TestHotPlanStays(t *testing.T) {
	c, sc, parsed := shapeConn(t, sqlite.New())
	hot := []string{
		"UPDATE posts SET views = views + 1 WHERE id = 7", "SELECT id, title, views FROM posts WHERE id = 7",
		"UPDATE posts SET views = 0 WHERE id = 7", "SELECT name FROM users WHERE id = 7",
	}
	others := []func(n int) string{
		func(n int) string { return fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", n) },
		func(n int) string { return fmt.Sprintf("SELECT views AS v%d FROM posts WHERE id = 1", n) },
		func(n int) string { return fmt.Sprintf("SELECT name FROM users WHERE id = %d", n) },
	}
	must := func(query string) *plan {
		p, err := c.Plan(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plans := map[string]*plan{}
	for n := range 6 * catalog.MaxCachedPlans {
		if n%1000 == 0 {
			for _, query := range hot {
				before := parsed.n.Load()
				p := must(query)
				must(query) // a second time soon: now it is known to come again
				switch {
				case n > 0 && parsed.n.Load() != before:
					t.Fatalf("%s: planned again after %d others", query, n)
				case n > 1000 && plans[query] != p:
					t.Fatalf("%s: another plan after %d others", query, n)
				}
				plans[query] = must(query)
			}
		}
		for _, other := range others {
			must(other(1_000_000 + n))
		}
	}
	if sc.Plans.Get(others[1](1_000_000)) != nil {
		t.Error("the others have not filled the cache")
	}
}

// maxPlanMemory is what a connector may keep of statements, however many there have been.
const maxPlanMemory = 24 << 20

var texts = flag.Int("plans.texts", 200_000, "different statements of each kind in TestPlanMemory")

// A connector keeps no more of many statements than of the few thousand that its caches hold.
func TestPlanMemory(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, format := range map[string]string{
		"increments": "UPDATE posts SET views = views + 1 WHERE id = %d",
		"reads":      "SELECT id, title, views FROM posts WHERE id = %d",
		"untouched":  "SELECT name FROM users WHERE id = %d",
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := shapeConn(t, postgres.New())
			before := heap()
			for n := range *texts {
				if _, err := c.ExecContext(t.Context(), fmt.Sprintf(format, 1_000_000+n), nil); err != nil {
					t.Fatal(err)
				}
			}
			kept := heap() - before
			runtime.KeepAlive(c)
			t.Logf("%.1f MiB after %d statements", float64(kept)/(1<<20), *texts)
			if kept > maxPlanMemory {
				t.Errorf("%d statements have left %d MiB", *texts, kept>>20)
			}
		})
	}
}

// Executions that differ in comments and white space share a group; those of other rows, and
// those with hints for the engine, do not.
func TestShapeGroups(t *testing.T) {
	for _, d := range []dialect.Dialect{mysql.New(), postgres.New(), sqlite.New()} {
		c, _, _ := shapeConn(t, d)
		alike := func(query string) string {
			p, err := c.Plan(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			if p.Group == nil {
				t.Fatalf("%s: no group: %s", query, p.GroupReason)
			}
			if strings.Contains(query, "trace") && !strings.Contains(p.Group.SQL.Of(p.Values), "trace") {
				t.Errorf("%s: the comment is lost: %s", query, p.Group.SQL.Of(p.Values))
			}
			return p.Group.SameSQL.Of(p.Values)
		}
		for range 3 { // planned, shared, from the cache
			one := alike("UPDATE posts SET views = views + 1 WHERE id = 7")
			for _, query := range []string{
				"UPDATE posts SET views = views + 1 WHERE id = 7 /* trace 1 */", "UPDATE posts SET views = views + 1 WHERE id = 7 /* trace 2 */",
				"UPDATE  posts\nSET views = views + 25 -- trace\n WHERE id = 7",
			} {
				if alike(query) != one {
					t.Errorf("%s: %s has no group in common with another", d.Name(), query)
				}
			}
			for _, query := range []string{"UPDATE posts SET views = views + 1 WHERE id = 8", "UPDATE /*+ x */ posts SET views = views + 1 WHERE id = 7"} {
				if alike(query) == one {
					t.Errorf("%s: %s has a group in common with another row's, or another plan's", d.Name(), query)
				}
			}
		}
	}
}
