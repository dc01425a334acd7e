package rewrite_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// Statements in which a literal may mean more than its value, by the place of the literal, %n for a number and %s
// for a string.
var literalPlaces = []string{
	"DELETE FROM posts WHERE views < %n AND title = %s",
	"DELETE FROM posts WHERE (views < %n OR views < %n) AND title <> %s",
	"UPDATE posts SET title = %s WHERE views BETWEEN %n AND %n AND author_id = %n",
	"UPDATE posts SET title = %s WHERE views > %n AND title = %s",
	"UPDATE posts SET author_id = %n WHERE NOT (views > %n) AND title IN (%s, %s)",
	"UPDATE posts SET views = views + %n, title = %s WHERE id = %n",
	"UPDATE posts SET views = views - -%n WHERE id = %n",
	"UPDATE posts SET views = views + +%n WHERE id = %n AND author_id = %n",
	"UPDATE posts SET views = views + %s WHERE id = %s",
	"UPDATE posts SET views = %s WHERE id = %n",
	"UPDATE posts SET views = views - %n WHERE id = %n AND views >= %n",
	"INSERT INTO posts (id, author_id, title, views) VALUES (%n, %n, %s, %n)",
	"INSERT INTO tags (id) SELECT id FROM posts WHERE views > %n AND title = %s",
	"SELECT title FROM posts WHERE id = %n FOR UPDATE",
	"SELECT author_id, SUM(views) FROM posts WHERE title <> %s GROUP BY author_id HAVING SUM(views) > %n ORDER BY 1 LIMIT 3",
	"SELECT author_id, SUM(views) + COUNT(*) FROM posts GROUP BY author_id HAVING COUNT(*) > %n AND SUM(views) < %n",
	"SELECT SUM(views), COUNT(*) FROM posts WHERE title = %s",
	"SELECT title FROM posts WHERE views > %n ORDER BY views DESC LIMIT 2 OFFSET 1",
	"SELECT title FROM posts WHERE id IN (SELECT id FROM posts WHERE views > %n AND title = %s)",
	"SELECT name FROM users WHERE EXISTS (SELECT 1 FROM posts WHERE posts.id = users.id AND views > %n AND title = %s)",
	"SELECT (SELECT views FROM posts WHERE title = %s LIMIT 1), id FROM users WHERE id = %n",
	"SELECT views FROM posts WHERE title = %s AND views IN (%n, %n) GROUP BY views",
	"SELECT CASE WHEN views > 3 THEN 'a' END FROM posts WHERE title LIKE %s",
	"SELECT views FROM posts WHERE title LIKE %s ESCAPE '!' AND author_id = %n",
	"SELECT COUNT(*) FROM posts WHERE COALESCE(views, %n) > %n",
	"SELECT title FROM posts WHERE views + %n > %n AND title >= %s",
}

var (
	numbers = []string{"1", "7", "42", "9973", "9970", "9999", "10000", "65536", "99999999", "2147483647", "2147483648", "999999999999", "4611686018427387904",
		"999999999999999999", "1.5", "2.50", "9999.99"}
	strs = []string{"'a'", "'a|b'", "'a & b'", "'~t0001~'", "'--'", "'/* x */'", "'a''b'", "'it`s'", "'say \"hi\"'", "'{b}'", "'posts'", "'9973'", "'1'", "'-5'", "'1.5'", "'1e3'",
		"' 7'", "'2026-01-02'", "'é'", "''", "'$1 ? :x'", "'(SELECT 1)'", "'" + strings.Repeat("x", 200) + "'"}
)

// Whatever a literal is that stands at one of these places, the plan that a statement shares with one of
// another literal is the one that it has by itself.
func TestLiteralPlaces(t *testing.T) {
	compared := map[string]int{}
	for name, d := range engines {
		pl := rewrite.Planner{Dialect: d, Catalog: benchCatalog{benchPosts()}}
		for _, place := range literalPlaces {
			if name == "sqlite" && strings.HasSuffix(place, "FOR UPDATE") {
				continue
			}
			var list []string
			for i := range 60 {
				sql := place
				for n := i; strings.Contains(sql, "%"); n = n*7 + 1 {
					at := strings.IndexByte(sql, '%')
					literal := numbers[n%len(numbers)]
					if sql[at+1] == 's' {
						literal = strs[n%len(strs)]
					}
					sql = sql[:at] + literal + sql[at+2:]
				}
				list = append(list, sql)
			}
			type plan struct {
				*rewrite.SharedPlan
				known string
			}
			shared := map[string][]plan{}
			for _, sql := range list {
				var o lex.Shape
				if !rewrite.ScanShape(d, &o, sql, noNames(&pl)) {
					continue
				}
				own, err := pl.Plan(sql)
				if err != nil {
					t.Fatal(err)
				}
				key := string(o.Key)
				of := shared[key]
				for _, p := range of {
					if string(o.Known(nil, p.Known())) != p.known {
						continue
					}
					compared[place]++
					if got := p.Of(&o); !rewrite.SamePlan(got, own) {
						t.Fatalf("%s: %s\nhas the plan of another: %s", name, sql, differ(reflect.ValueOf(got.Whole()), reflect.ValueOf(own), ""))
					}
				}
				if p := pl.Share(&o, own); p != nil && len(of) < 8 {
					shared[key] = append(of, plan{p, string(o.Known(nil, p.Known()))})
				} else if p == nil {
					t.Errorf("%s: %s\nshares no plan", name, sql)
				}
			}
		}
	}
	for _, place := range literalPlaces {
		if compared[place] < 20 {
			t.Errorf("%s\nwas compared %d times", place, compared[place])
		}
	}
}
