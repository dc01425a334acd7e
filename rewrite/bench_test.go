package rewrite_test

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// benchCatalog knows one counter table, posts.
type benchCatalog struct{ posts *schema.Table }

func (c benchCatalog) Counters() []*schema.Table { return []*schema.Table{c.posts} }
func (c benchCatalog) Lookup(name []ast.Ident) (*schema.Table, bool) {
	if name[len(name)-1].Name == "posts" {
		return c.posts, true
	}
	return nil, true
}

var benchStatements = []struct{ name, sql string }{
	{"untouched", "SELECT id, name, email FROM users WHERE id = ? AND deleted_at IS NULL"},
	{"increment", "UPDATE posts SET views = views + 1 WHERE id = ?"},
	{"read", "SELECT id, title, views FROM posts WHERE id = ?"},
	{
		"join",
		"SELECT u.name, p.title, p.views FROM users u JOIN posts p ON p.author_id = u.id WHERE u.id = ? ORDER BY p.views DESC LIMIT 10",
	},
	{"drain", "UPDATE posts SET views = 0 WHERE id = ?"},
}

// benchPosts is a counter table as a configuration with defaults has it.
func benchPosts() *schema.Table {
	posts := &schema.Table{
		Schema: "main", Name: "posts",
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
			{Name: "author_id", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
			{Name: "title", Type: "text"},
			{Name: "views", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
		},
		Uniques: []schema.Unique{{Name: "posts_pkey", Primary: true, Columns: []string{"id"}}},
	}
	cfg := config.TableDefaults()
	cfg.Counters = []config.CounterConfig{{Column: "views"}}
	posts.Counter = catalog.Counter(&cfg, posts, sqlite.New().NameRules())
	return posts
}

// BenchmarkPlan is what becomes of a statement that no cache knows, and its parts:
// cutting it into tokens, and the dialect's parser with the translation into
// the neutral statement.
func BenchmarkPlan(b *testing.B) {
	posts := benchPosts()
	for _, d := range []struct {
		name string
		rewrite.Dialect
	}{{"mysql", mysql.New()}, {"postgres", postgres.New()}, {"sqlite", sqlite.New()}} {
		pl := rewrite.Planner{Dialect: d, Catalog: benchCatalog{posts}}
		for _, t := range benchStatements {
			sql := t.sql
			if d.LexRules().DollarParam {
				sql = strings.Replace(sql, "?", "$1", 1)
			}
			b.Run("scan/"+d.name+"/"+t.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					lex.Tokens(d.LexRules(), sql)
				}
			})
			b.Run("parse/"+d.name+"/"+t.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Parse(sql); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("plan/"+d.name+"/"+t.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := pl.Plan(sql); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkShape is what becomes of a statement that no cache knows, whose shape is known: it
// is cut up, and the shared plan is made its own.
func BenchmarkShape(b *testing.B) {
	posts := benchPosts()
	for _, d := range []struct {
		name string
		rewrite.Dialect
	}{{"mysql", mysql.New()}, {"postgres", postgres.New()}, {"sqlite", sqlite.New()}} {
		pl := rewrite.Planner{Dialect: d, Catalog: benchCatalog{posts}}
		names := func(string) bool { return false }
		for _, t := range benchStatements {
			sql := strings.Replace(strings.Replace(t.sql, "?", "1234567", 1), "= 0", "= 5", 1)
			own, err := pl.Plan(sql)
			if err != nil {
				b.Fatal(err)
			}
			var o lex.Shape
			if !rewrite.ScanShape(d, &o, sql, names) {
				b.Fatal(sql)
			}
			shared := pl.Share(&o, own)
			b.Run("cut/"+d.name+"/"+t.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					rewrite.ScanShape(d, &o, sql, names)
				}
			})
			b.Run("fill/"+d.name+"/"+t.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					shared.Of(&o)
				}
			})
		}
	}
}
