package postgres

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// shapes pins what Parse makes of a statement: see TestConformance.
var shapes = [][2]string{
	// Increments, as applications write them.
	{`UPDATE posts SET views = views + 1 WHERE id = $1`,
		`update [posts] set views={views + 1} where {id = $1}`},
	{`UPDATE t SET (a, "B") = (a + 1, ($1)), c = 3, (d) = ROW(CASE WHEN x THEN (1, 2) = (3, 4) END), (e, f) = (DEFAULT, f(1, 2)) WHERE y`,
		`update [t] set a={a + 1} B={($1)} c={3} d={CASE WHEN x THEN (1, 2) = (3, 4) END} e=default f={f(1, 2)} where {y}`},
	{
		`update Public."Posts" AS p set "Views"=COALESCE(p."Views", 0)+-1 where p.id=1 AND (blog = $2) and x between 1 and 2 RETURNING p.*, id as "Id"`,
		`update [Public."Posts" AS p] set Views={COALESCE(p."Views", 0)+-1} where {p.id=1} {(blog = $2)} {x between 1 and 2} returning <p.*> <id as "Id">`,
	},
	{
		`UPDATE posts p SET c=c+1,d = ((d)) - $1::int WHERE a AND (b AND (c OR d)) AND NOT e AND CASE WHEN a AND b THEN c END AND f::text = 'x'::text`,
		`update [posts p] set c={c+1} d={((d)) - $1::int} where {a} {(b AND (c OR d))} {NOT e} {CASE WHEN a AND b THEN c END} {f::text = 'x'::text}`,
	},
	{`UPDATE ONLY posts SET c = DEFAULT, d = -(1) FROM x JOIN y USING (id) WHERE posts.id = x.id`,
		`update only [posts] set c=default d={-(1)} from (x join y using id) where {posts.id = x.id}`},
	{`UPDATE posts * SET c = 1`, `update only [posts] set c={1}`},
	{`/* a */ UPDATE posts -- b
		SET c = /* c */ c /* ; */ + 1 /* d */ WHERE /* e */ id = 1 /* f */ ;`,
		`update [posts] set c={c /* ; */ + 1} where {id = 1}`},
	{
		`WITH q AS MATERIALIZED (SELECT 1 AS id), r (a, b) AS (DELETE FROM x WHERE y RETURNING z) UPDATE posts SET c = c + 1 WHERE id IN (SELECT id FROM q)`,
		`with q (select <1 AS id>) r(a,b) (delete [x] where {y} returning <z>) update [posts] set c={c + 1} where {id IN (select <id> from q)}`,
	},
	{
		`UPDATE t SET c = c OPERATOR(pg_catalog.+) 1 WHERE id = ANY($1) AND n IS NOT DISTINCT FROM m AND k NOT IN (1, 2) AND s NOT LIKE '%a' ESCAPE '!' AND z IS NULL`,
		`update [t] set c={c OPERATOR(pg_catalog.+) 1} where {id = ANY($1)} {n IS NOT DISTINCT FROM m} {k NOT IN (1, 2)} {s NOT LIKE '%a' ESCAPE '!'} {z IS NULL}`,
	},

	// INSERT.
	{
		`INSERT INTO posts AS p (id, "C") VALUES (1, DEFAULT), ($1, (SELECT max(c) FROM x)) ON CONFLICT (id) WHERE live DO UPDATE SET "C" = p."C" + EXCLUDED."C" WHERE p.id > excluded.id RETURNING "C"`,
		`insert [posts AS p] (id,C) rows 2 conflict (id) where {live} set C={p."C" + EXCLUDED."C"} where {p.id > excluded.id} returning <"C">`,
	},
	{`INSERT INTO posts DEFAULT VALUES`, `insert [posts] rows 1`},
	{`INSERT INTO posts (a) OVERRIDING USER VALUE SELECT a FROM b JOIN c ON b.x = c.x ON CONFLICT ON CONSTRAINT "K" DO NOTHING`,
		`insert only [posts] (a) (select <a> from (b join c on {b.x = c.x})) conflict on K nothing`},
	{`INSERT INTO t (VALUES (1) ORDER BY 1)`, `insert [t] (values 1 order by {1})`},
	{`INSERT INTO t WITH w AS (SELECT 1) SELECT * FROM w`, `insert [t] (with w (select <1>) select <*> from w)`},

	// DELETE and the rest.
	{`DELETE FROM posts USING a, b WHERE posts.id = a.id RETURNING *`,
		`delete [posts] from a b where {posts.id = a.id} returning <*>`},
	{`TRUNCATE a, ONLY b.c CASCADE`, `truncate a b.c`},
	{`DROP TABLE IF EXISTS a, "B".c`, `drop B.c a`},
	{`COMMENT ON COLUMN a.b.c IS 'x'`, `ddl a.b`},
	{`CREATE TABLE x (id int REFERENCES y)`, `ddl x y`},
	{`CREATE TABLE x AS SELECT 1 AS a FROM y WITH NO DATA`, `create (select <1 AS a> from y) x`},
	{`SELECT a INTO x FROM y`, `create (select <a> from y into) x`},
	{`BEGIN`, `session`},
	{`set local x = 1`, `session`},
	{`SAVEPOINT a`, `session`},
	{`DISCARD ALL`, `session`},
	{`LISTEN a`, `session`},
	{`show x`, `session`},
	{`EXPLAIN (ANALYZE, COSTS off) SELECT c FROM posts`, `explain`},
	{`EXPLAIN ANALYZE VERBOSE (SELECT c FROM posts)`, `explain`},
	{`EXPLAIN UPDATE posts SET c = 1`, `explain`},
	{`DECLARE k CURSOR FOR SELECT c FROM posts`, `reads (select <c> from posts)`},
	{`MERGE INTO posts USING x ON true WHEN MATCHED THEN DELETE`, `other posts x`},
	{`COPY posts (a) FROM STDIN`, `other posts`},
	{`LOCK posts`, `other posts`},
	{`VACUUM posts`, `ddl posts`},
	{`DO $$ BEGIN END $$`, `other`},
	{`CALL f(1)`, `other`},
	{`PREPARE a AS SELECT * FROM posts`, `other posts`},

	// SELECT.
	{
		`SELECT DISTINCT ON (a) a, b + 1 x, (c) AS from, count(*) FILTER (WHERE d), 1::numeric(3, 2) n FROM t WHERE a IS DISTINCT FROM b GROUP BY a, (b) HAVING count(*) > 1 WINDOW w AS (PARTITION BY c) ORDER BY x DESC NULLS LAST, (a) LIMIT 3 OFFSET $1 FOR UPDATE OF t`,
		`select on {a} <a> <b + 1 x> <(c) AS from> <count(*) FILTER (WHERE d)> <1::numeric(3, 2) n> from t where {a IS DISTINCT FROM b} group by {a} {b} having {count(*) > 1} windows 1 order by {x} {a} limit {3} {$1} lock`,
	},
	{`(SELECT a FROM t WHERE x) ORDER BY a LIMIT 1`, `select <a> from t where {x} order by {a} limit {1}`},
	{`SELECT 1 UNION ALL (SELECT 2 LIMIT 1) EXCEPT SELECT 3 INTERSECT VALUES (4), (5) ORDER BY 1 FETCH FIRST ROW ONLY`,
		`[[select <1>] [select <2> limit {1}]] [[select <3>] [values 2]] order by {1} limit {}`},
	{
		`SELECT * FROM a CROSS JOIN b LEFT JOIN (c JOIN d ON c.x = d.x) ON a.y = c.y, LATERAL (SELECT a.z) q(v), f(a.w) WITH ORDINALITY g, t2 AS z (m, n)`,
		`select <*> from ((a join b) left join (c join d on {c.x = d.x}) on {a.y = c.y}) lateral (select <a.z>) q f(...) g t2 z`,
	},
	{`SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x`, `select <*> from (a join (b join c on {b.x = c.x}) on {a.x = b.x})`},
	{`SELECT (p).views, p.views[1], (SELECT sum(x) OVER w FROM y), EXISTS (SELECT 1), ARRAY(SELECT 2) FROM p`,
		`select <(p).views> <p.views[1]> <(SELECT sum(x) OVER w FROM y)> <EXISTS (SELECT 1)> <ARRAY(SELECT 2)> from p`},
	{`VALUES (1, 'a'), ($1, NULL)`, `values 2`},
	{`TABLE ONLY s.t ORDER BY a LIMIT 1`, `select <TABLE> from s.t order by {a} limit {1}`},
}

// accepted are statements whose translation must be complete; what it is
// judged by are the census and the spans.
var accepted = []string{
	`SELECT extract(epoch FROM a), substring(b FROM 1 FOR 2), trim(both 'x' from c), overlay(d placing e from 1), position('a' in f), a AT TIME ZONE 'UTC', (a, b) OVERLAPS (c, d) FROM t`,
	`SELECT CAST(a AS text), interval '1' day, date '2020-01-01', 'a'::text COLLATE "C", (array[1, a])[2], row(a, b) = (c, d), a.b.c, -a, - 1, +1, 1e3, .5, 0x1F, b'1', x'f', e'\n', U&'a', $$x$$, $a$b$a$, 'a'
 'b' FROM a.b`,
	`SELECT grouping(a), rank() WITHIN GROUP (ORDER BY b), sum(DISTINCT c ORDER BY d), f(VARIADIC e), g(x => y), nullif(a, b), greatest(a, b), least(a), coalesce(a, b) FROM t GROUP BY ROLLUP (a, (b, c)), GROUPING SETS ((), (d))`,
	`SELECT a FROM t WHERE a > ALL (SELECT b FROM u) AND (c, d) IN (SELECT e, f FROM v) AND NOT EXISTS (SELECT 1) AND g = SOME (ARRAY[1]) AND (SELECT true)`,
	`SELECT x.views FROM posts x WHERE ((x.id) = 1) AND (((x.a) AND x.b) AND (x.c))`,
	`SELECT "é"."ü", ÜBER FROM "é"`,
	`WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r`,
	`SELECT * FROM ROWS FROM (f(1), g(2)) AS x, XMLTABLE('a' PASSING b COLUMNS c int) z, generate_series(1, 2) s(n)`,
	`SELECT CASE a WHEN 1 THEN b ELSE c END AS end, a AS case FROM t WHERE a IS NOT TRUE AND b ISNULL AND c NOTNULL AND d IS NOT NORMALIZED`,
	`SELECT json_object('a': b), json_arrayagg(c), json_object(d, e) FROM t`,
	`SELECT * FROM a JOIN b USING (x) AS y`,
	`INSERT INTO t VALUES (1) ON CONFLICT (lower(a), b COLLATE "C", (c || d) text_ops) WHERE e > 1 DO NOTHING`,
	`TABLE t ORDER BY a, b LIMIT 1`,
	`SELECT * FROM t AS x TABLESAMPLE bernoulli (1 + 1) REPEATABLE (2) JOIN u ON t.a = u.a`,
	`SELECT a FROM t1 NATURAL FULL JOIN t2 RIGHT OUTER JOIN t3 USING (a, b) WHERE left(a, 1) = 'x'`,
}

// refused are statements that are not carried faithfully: the planner must
// not rely on their trees.
var refused = []string{
	`UPDATE t SET (a, b) = (SELECT 1, 2)`, `UPDATE t SET (a, b) = ROW (u.*)`, `UPDATE t SET a[1] = 2`, `UPDATE t SET a.b = 2`, `UPDATE t SET a = 1 WHERE CURRENT OF c`,
	`SELECT * FROM t TABLESAMPLE system ((SELECT 1))`,
	`WITH m AS (MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE) SELECT 1`, `SELECT U&"d!0061t" UESCAPE '!' FROM t`,
	`UPDATE t SET a = 1 RETURNING old.a`, `SELECT json_array(SELECT a FROM t)`,
	`INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded`,
}

func TestParseComplete(t *testing.T) {
	for _, sql := range accepted {
		st, err := New().Parse(sql)
		if err != nil || st.Opaque != "" {
			t.Errorf("%s: %v, %+v", sql, err, st)
			continue
		}
		dialecttest.Spans(t, New(), sql, st)
	}
	for _, sql := range refused {
		if st, err := New().Parse(sql); err != nil || st.Opaque == "" {
			t.Errorf("%s: not refused: %v", sql, err)
		}
	}
}

func TestParseDepth(t *testing.T) {
	for _, sql := range []string{
		"SELECT " + strings.Repeat("NOT ", 10000) + "a", "SELECT " + strings.Repeat("- ", 10000) + "a",
		"SELECT " + strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000),
	} {
		if _, err := New().Parse(sql); err == nil {
			t.Errorf("no error: %.60q", sql)
		}
	}
}

func TestParseExpressions(t *testing.T) {
	for _, c := range []struct {
		sql  string
		kind ast.ExprKind
		want string
	}{
		{"-1", ast.Unary, "-"}, {"1", ast.Number, ""}, {"'it''s'", ast.String, "it's"}, {"NULL", ast.Null, ""},
		{"$12", ast.Param, "$12"}, {"a and b", ast.Binary, "AND"}, {"a<>b", ast.Binary, "<>"}, {"a=-1", ast.Binary, "="},
		{"not a", ast.Unary, "NOT"}, {"(a)", ast.Paren, ""}, {"Lower(a)", ast.Call, "lower"}, {"pg_catalog.now()", ast.Call, "now"},
		{"$1::int", ast.Opaque, "cast"}, {"cast('x' as uuid)", ast.Opaque, "cast"}, {"a in (1)", ast.In, ""},
		{"a in (select 1)", ast.In, ""}, {"exists (select 1)", ast.Subquery, "exists"}, {"(select 1)", ast.Subquery, ""},
		{"t.*", ast.Star, ""}, {"greatest(a, b)", ast.Call, "greatest"}, {"current_timestamp", ast.Opaque, "current_timestamp"},
	} {
		st, err := New().Parse("SELECT " + c.sql + " FROM t")
		if err != nil {
			t.Fatal(err)
		}
		e := st.Select.Items[0].Expr
		if e.Kind != c.kind || c.want != "" && e.Op != c.want && e.Text != c.want {
			t.Errorf("%s: %+v", c.sql, e)
		}
	}
	for sql, want := range map[string]bool{"count(*)": true, "sum(a)": true, "f(a) OVER ()": true, "f(DISTINCT a)": true, "f(a) FILTER (WHERE b)": true,
		"f(a)": false, "lower(a)": false, "coalesce(a, 0)": false, "mode() WITHIN GROUP (ORDER BY a)": true} {
		st, err := New().Parse("SELECT " + sql + " FROM t")
		if err != nil || st.Select.Items[0].Expr.Aggregate != want {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestNames(t *testing.T) {
	d := New()
	long := strings.Repeat("x", 70)
	for _, c := range []struct {
		written ast.Ident
		stored  string
		want    bool
	}{
		{ast.Ident{Name: "Posts"}, "posts", true}, {ast.Ident{Name: "Posts", Quoted: true}, "posts", false},
		{ast.Ident{Name: "Posts", Quoted: true}, "Posts", true}, {ast.Ident{Name: "posts"}, "Posts", false},
		{ast.Ident{Name: long}, long[:63], true}, {ast.Ident{Name: strings.Repeat("é", 40)}, strings.Repeat("é", 31), true},
	} {
		if d.SameTable(c.written, c.stored) != c.want || d.SameColumn(c.written, c.stored) != c.want {
			t.Errorf("%v %q", c.written, c.stored)
		}
	}
}
