package sqlite

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// describe writes what the planner splices by: every column, star, excluded
// and parameter with the text of its span, and every table target.
func describe(sql string, st *ast.Statement) []string {
	var out []string
	dialecttest.Each(st, func(e *ast.Expr) {
		s := ""
		if e.Start <= e.End && e.End <= len(sql) {
			s = sql[e.Start:e.End]
		}
		switch e.Kind {
		case ast.ColumnRef:
			out = append(out, "col "+s)
		case ast.Star:
			out = append(out, "star "+s)
		case ast.Excluded:
			out = append(out, "excluded "+s)
		case ast.Param:
			out = append(out, "param "+s)
		}
	}, func(s *ast.Source) {
		if s.Name != nil {
			out = append(out, "table "+sql[s.Start:s.End])
		}
	})
	sort.Strings(out)
	return out
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		sql, want string
	}{
		{"SELECT views FROM posts WHERE id = ?", "col id, col views, param ?, table posts"},
		{"SELECT p.*, * FROM posts AS p, main.tags 'q'", "star *, star p.*, table main.tags 'q', table posts AS p"},
		{"SELECT \"views\", [likes], `x` FROM \"po\"\"sts\" x", "col \"views\", col [likes], col `x`, table \"po\"\"sts\" x"},
		{"SELECT a FROM t WHERE a IN (SELECT b FROM u WHERE u.c=t.c) AND EXISTS (SELECT 1 FROM v)", "col a, col a, col b, col t.c, col u.c, table t, table u, table v"},
		{"SELECT max(a,b), max(a), count(*) FILTER (WHERE c) OVER (PARTITION BY d ORDER BY e ROWS f PRECEDING) FROM t", "col a, col a, col b, col c, col d, col e, col f, table t"},
		{"SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b)", "col a, col b, table t"},
		{"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x LIMIT :l) SELECT n FROM x ORDER BY n DESC LIMIT 1, @o", "col n, col n, col n, param :l, param @o, table x, table x"},
		{"SELECT a COLLATE NOCASE, CAST(b AS TEXT), CASE c WHEN d THEN e ELSE f END, (g, h) IS NOT (1, 2), i NOTNULL FROM t", "col a, col b, col c, col d, col e, col f, col g, col h, col i, table t"},
		{"SELECT a FROM t WHERE a LIKE b ESCAPE c AND d NOT BETWEEN e AND f OR g GLOB h", "col a, col a, col b, col c, col d, col e, col f, col g, col h, table t"},
		{"SELECT j.value FROM t, json_each(t.doc) AS j", "col j.value, col t.doc, table t"},
		{"SELECT 1 FROM a LEFT JOIN b USING (id) NATURAL JOIN c JOIN (d CROSS JOIN e) ON d.x = e.x", "col d.x, col e.x, table a, table b, table c, table d, table e"},
		{"SELECT TRUE, false, true FROM t", "table t"},
		{"SELECT rowid, _rowid_, t.oid FROM t", "col _rowid_, col rowid, col t.oid, table t"},
		{"UPDATE posts SET views = views + ?2, likes=likes+$n WHERE id = ?1", "col id, col likes, col views, param $n, param ?1, param ?2, table posts"},
		{"UPDATE main.posts AS p SET views = p.views+1 FROM u WHERE p.id = u.id RETURNING views, p.likes AS l", "col p.id, col p.likes, col p.views, col u.id, col views, table main.posts AS p, table u"},
		{"INSERT INTO t AS x (a, b) VALUES (?, ?), (1, (SELECT c FROM u)) ON CONFLICT (a) WHERE d DO UPDATE SET b = b + excluded.b WHERE x.a <> EXCLUDED.a RETURNING *", "col b, col c, col d, col x.a, excluded EXCLUDED.a, excluded excluded.b, param ?, param ?, star *, table t AS x, table u"},
		{"INSERT INTO t SELECT a FROM u WHERE true ON CONFLICT DO NOTHING", "col a, table t, table u"},
		{"REPLACE INTO t DEFAULT VALUES", "table t"},
		{"DELETE FROM posts AS p WHERE id = 1 OR views ISNULL RETURNING id", "col id, col id, col views, table posts AS p"},
		{"CREATE TEMP TABLE x AS SELECT views FROM posts", "col views, table posts"},
		{"SELECT ü FROM \"tä\" WHERE 'x' = ü -- comment é\n", "col ü, col ü, table \"tä\""},
	} {
		t.Run(c.sql, func(t *testing.T) {
			st, err := New().Parse(c.sql)
			if err != nil {
				t.Fatal(err)
			}
			if st.Opaque != "" {
				t.Fatalf("opaque: %s", st.Opaque)
			}
			if got := strings.Join(describe(c.sql, st), ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseKind(t *testing.T) {
	for _, c := range []struct {
		sql  string
		kind ast.Kind
		want string // flags and tables
	}{
		{"UPDATE OR REPLACE t SET a=1", ast.KindUpdate, "replace"},
		{"UPDATE OR IGNORE t SET a=1", ast.KindUpdate, "modifier"},
		{"UPDATE t INDEXED BY i SET a=1", ast.KindUpdate, "modifier"},
		{"DELETE FROM t NOT INDEXED", ast.KindDelete, "modifier"},
		{"SELECT 1 FROM t INDEXED BY i", ast.KindSelect, "modifier"},
		{"INSERT OR REPLACE INTO t VALUES (1)", ast.KindInsert, "replace"},
		{"REPLACE INTO t VALUES (1)", ast.KindInsert, "replace"},
		{"INSERT OR ABORT INTO t VALUES (1)", ast.KindInsert, "modifier"},
		{"INSERT INTO t DEFAULT VALUES", ast.KindInsert, "modifier"},
		{"UPDATE t SET (a, b) = (SELECT 1, 2)", ast.KindUpdate, "opaque"},
		{"UPDATE t SET (a, b) = (1, 2, 3)", ast.KindUpdate, "opaque"},
		{"SELECT 1 FROM t WHERE a IN u", ast.KindSelect, ""},
		{"SELECT 1 FROM (a JOIN b) AS c", ast.KindSelect, ""},
		{"SELECT 1 FROM (a) AS c", ast.KindSelect, "opaque"},
		{"SELECT 1 FROM a LEFT INNER JOIN b", ast.KindSelect, "opaque"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO NOTHING ON CONFLICT DO NOTHING", ast.KindInsert, "opaque"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a+1, b COLLATE NOCASE) DO NOTHING", ast.KindInsert, ""},
		{"INSERT INTO excluded VALUES (1) ON CONFLICT (a) DO UPDATE SET a=excluded.a", ast.KindInsert, "opaque"},
		{"PRAGMA foreign_keys=on", ast.KindSession, ""},
		{"ATTACH 'x' AS y", ast.KindSession, ""},
		{"BEGIN IMMEDIATE", ast.KindSession, ""},
		{"END", ast.KindSession, ""},
		{"ROLLBACK TO x", ast.KindSession, ""},
		{"RELEASE x", ast.KindSession, ""},
		{"EXPLAIN UPDATE t SET a=1", ast.KindExplain, ""},
		{"DROP TABLE IF EXISTS main.t", ast.KindDrop, "main.t"},
		{"ALTER TABLE t ADD COLUMN x", ast.KindDDL, "t"},
		{"CREATE UNIQUE INDEX i ON t (a)", ast.KindDDL, "i t"},
		{"CREATE VIEW v AS SELECT * FROM t, u", ast.KindDDL, "t u v"},
		{"CREATE TRIGGER r AFTER UPDATE ON t BEGIN DELETE FROM u; END", ast.KindDDL, "r t u"},
		{"CREATE TABLE x (a REFERENCES t)", ast.KindDDL, "t x"},
		{"VACUUM", ast.KindDDL, ""},
		{"REINDEX t", ast.KindDDL, "t"},
		{"VALUES (1), (2)", ast.KindSelect, ""},
	} {
		t.Run(c.sql, func(t *testing.T) {
			st, err := New().Parse(c.sql)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range st.Tables {
				var parts []string
				for _, id := range n {
					parts = append(parts, id.Name)
				}
				got = append(got, strings.Join(parts, "."))
			}
			sort.Strings(got)
			if st.Replace {
				got = append(got, "replace")
			}
			if st.Modifier {
				got = append(got, "modifier")
			}
			if st.Opaque != "" {
				got = append(got, "opaque")
			}
			if st.Kind != c.kind || strings.Join(got, " ") != c.want {
				t.Errorf("got kind %d %q, want %d %q", st.Kind, got, c.kind, c.want)
			}
		})
	}
}

func TestParseRejects(t *testing.T) {
	for _, sql := range []string{
		"SELECT", "UPDATE t SET a=1 LIMIT 1", "SELECT 1" + strings.Repeat("+1", 5000), "SELECT * FROM a" + strings.Repeat(" JOIN a", 5000),
	} {
		if _, err := New().Parse(sql); err == nil {
			t.Errorf("no error for %.40q", sql)
		}
	}
}

func TestParseSpans(t *testing.T) {
	const text = "UPDATE posts SET views = views+1 WHERE (id = 5) AND /* c */ a > b  AND x IN ( SELECT 1 )"
	st, err := New().Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	at := func(e *ast.Expr) string { return text[e.Start:e.End] }
	and := st.Where
	last := and.Args[1]
	if at(last) != "x IN ( SELECT 1 )" || at(last.Args[1]) != "( SELECT 1 )" {
		t.Errorf("last conjunct %q %q", at(last), at(last.Args[1]))
	}
	if s := at(and.Args[0].Args[0]); s != "(id = 5)" {
		t.Errorf("first conjunct %q", s)
	}
	if s := at(and.Args[0].Args[1]); s != "a > b" {
		t.Errorf("second conjunct %q", s)
	}

	const compound = "SELECT a FROM t WHERE (a) UNION ALL SELECT b FROM u GROUP BY (b) ORDER BY 1 LIMIT 2"
	st, err = New().Parse(compound)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"SELECT a FROM t WHERE (a)", "SELECT b FROM u GROUP BY (b)"} {
		if o := st.Select.Operands[i]; compound[o.Start:o.End] != want {
			t.Errorf("operand %q, want %q", compound[o.Start:o.End], want)
		}
	}
	if len(st.Select.OrderBy) != 1 || len(st.Select.Limit) != 1 {
		t.Error("ORDER BY and LIMIT belong to the whole")
	}
}

// A comparison by other rules than the column's own does not fix a key.
func TestParseOtherRules(t *testing.T) {
	for sql, want := range map[string]ast.ExprKind{
		"a = ?":                     ast.Binary,
		"a = ? COLLATE NOCASE":      ast.Opaque,
		"a = (? COLLATE NOCASE)":    ast.Opaque,
		"a == CAST(? AS INTEGER)":   ast.Opaque,
		"a IN (? COLLATE NOCASE)":   ast.Opaque,
		"a IN (?)":                  ast.In,
		"a IS ?":                    ast.Binary,
		"a = b + CAST(? AS TEXT)":   ast.Opaque,
		"a + CAST(? AS INTEGER)":    ast.Binary,
		"a = 1 AND b = ? COLLATE x": ast.Binary,
	} {
		st, err := New().Parse("SELECT 1 FROM t WHERE " + sql)
		if err != nil {
			t.Fatal(err)
		}
		if st.Select.Where.Kind != want {
			t.Errorf("%s: kind %d, want %d", sql, st.Select.Where.Kind, want)
		}
	}
}

func TestParseAggregate(t *testing.T) {
	for call, want := range map[string]bool{
		"min(a)": true, "min(a, b)": false, "count(*)": true, "total(a)": true, "coalesce(a, b)": false,
		"abs(DISTINCT a)": true, "f(a) OVER ()": true, "json_group_array(a ORDER BY b)": true, "MAX(a)": true,
	} {
		st, err := New().Parse("SELECT " + call)
		if err != nil {
			t.Fatal(err)
		}
		e := st.Select.Items[0].Expr
		if e.Kind != ast.Call || e.Aggregate != want {
			t.Errorf("%s: kind %d aggregate %v", call, e.Kind, e.Aggregate)
		}
	}
}

// FuzzParse holds that no text makes Parse panic, that what it returns keeps the
// rules of dialecttest.Spans, and that the text of a column's span, parsed on its own,
// names that column.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"UPDATE posts SET views = views + 1 WHERE id = ?",
		"WITH a(b) AS (SELECT 1) SELECT a.*, \"x\".[y] FROM a LEFT JOIN t USING (q) WHERE z IN (SELECT 'w') ORDER BY 1",
		"INSERT INTO t(a) VALUES (:a) ON CONFLICT (a) DO UPDATE SET a = a + excluded.a RETURNING rowid",
		"SELECT sum(a) FILTER (WHERE b) OVER (PARTITION BY c) FROM json_each(?1) WHERE d NOT LIKE e ESCAPE 'f'",
		"DELETE FROM t WHERE (a, b) IN (VALUES (1, 2)) AND c ISNULL;",
		"CREATE TABLE t (a CHECK (a > 0))",
		"VALUES(:0), (@1), (#a), ($2), ($a::b(c))",
	} {
		f.Add(s)
	}
	d := New()
	f.Fuzz(func(t *testing.T, sql string) {
		st, err := d.Parse(sql)
		if err != nil {
			return
		}
		dialecttest.Spans(t, d, sql, st)
		dialecttest.Each(st, func(e *ast.Expr) {
			if e.Kind != ast.ColumnRef {
				return
			}
			s := sql[e.Start:e.End]
			again, err := d.Parse("SELECT " + s)
			if err != nil {
				t.Fatalf("column %q: %v", s, err)
			}
			got := again.Select.Items[0].Expr
			if got.Kind != ast.ColumnRef || fmt.Sprint(got.Name) != fmt.Sprint(e.Name) {
				t.Fatalf("column %v reads back as %v", e.Name, got.Name)
			}
		}, func(*ast.Source) {})
	})
}
