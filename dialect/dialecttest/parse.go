package dialecttest

import (
	"slices"
	"strings"
	"testing"
)

// shapes are statements that all engines take, each with what Sketch makes of it. $1
// stands for a placeholder.
var shapes = [][2]string{
	{`UPDATE posts SET views = views + 1 WHERE id = $1`, `update [posts] set views={views + 1} where {id = $1}`},
	{
		`UPDATE posts SET c=c+1,d = ((d)) - 2 WHERE a AND (b AND (c OR d)) AND NOT e AND CASE WHEN a AND b THEN c END`,
		`update [posts] set c={c+1} d={((d)) - 2} where {a} {(b AND (c OR d))} {NOT e} {CASE WHEN a AND b THEN c END}`,
	},
	{
		"/* a */ UPDATE posts -- b\n SET c = /* c */ c /* ; */ + 1 /* d */ WHERE /* e */ id = 1 /* f */",
		`update [posts] set c={c /* ; */ + 1} where {id = 1}`,
	},
	{`UPDATE posts SET c = -1 WHERE id IN (1, $1)`, `update [posts] set c={-1} where {id IN (1, $1)}`},
	{`DELETE FROM posts WHERE id = 1 OR views IS NULL`, `delete [posts] where {id = 1 OR views IS NULL}`},
	{`INSERT INTO posts (id, c) VALUES (1, 2), ($1, (SELECT max(c) FROM x))`, `insert [posts] (id,c) rows 2`},
	{`INSERT INTO t SELECT a FROM u WHERE b = 1`, `insert [t] (select <a> from u where {b = 1})`},
	{
		`SELECT DISTINCT a, b + 1 AS x, count(*) FROM t WHERE a = b GROUP BY a, b HAVING count(*) > 1 ORDER BY x DESC LIMIT 3 OFFSET $1`,
		`select <a> <b + 1 AS x> <count(*)> from t where {a = b} group by {a} {b} having {count(*) > 1} order by {x} limit {3} {$1}`,
	},
	{`SELECT t.*, * FROM a CROSS JOIN b LEFT JOIN c ON a.y = c.y`, `select <t.*> <*> from ((a join b) left join c on {a.y = c.y})`},
	{
		`SELECT q.v FROM (SELECT a AS v FROM t) AS q WHERE q.v IN (SELECT b FROM u)`,
		`select <q.v> from (select <a AS v> from t) q where {q.v IN (select <b> from u)}`,
	},
	{`SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1`, `[select <a> from t] [select <b> from u] order by {1}`},
	{`WITH q AS (SELECT 1 AS id) SELECT id FROM q`, `with q (select <1 AS id>) select <id> from q`},
	{`SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.x)`, `select <a> from t where {EXISTS (SELECT 1 FROM u WHERE u.x = t.x)}`},
	{
		`SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b LIKE 'x%' AND c IS NOT NULL`,
		`select <a> from t where {a BETWEEN 1 AND 2} {b LIKE 'x%'} {c IS NOT NULL}`,
	},
	{`SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b)`, `select <sum(a) OVER w> from t windows 1`},
	{`EXPLAIN SELECT c FROM posts`, `explain`},
	{`EXPLAIN UPDATE posts SET c = 1`, `explain`},
	{`DROP TABLE IF EXISTS a`, `drop a`},
	{`BEGIN`, `session`}, {`COMMIT`, `session`}, {`ROLLBACK`, `session`}, {`SAVEPOINT a`, `session`},
	{`RELEASE SAVEPOINT a`, `session`}, {`ROLLBACK TO SAVEPOINT a`, `session`},
}

// parse holds that Parse finds each part of a statement where it stands.
func (o Options) parse(t *testing.T) {
	all := slices.Clone(o.Shapes)
	for _, c := range shapes {
		p := o.Dialect.Placeholder(1)
		all = append(all, [2]string{strings.ReplaceAll(c[0], "$1", p), strings.ReplaceAll(c[1], "$1", p)})
	}
	for _, c := range all {
		sql, want := c[0], c[1]
		st, err := o.Dialect.Parse(sql)
		switch {
		case err != nil:
			t.Errorf("%s: %v", sql, err)
			continue
		case st.Opaque != "":
			t.Errorf("%s: opaque: %s", sql, st.Opaque)
		}
		if got := Sketch(sql, st); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
		Spans(t, o.Dialect, sql, st)
	}
}

// refuses holds that Parse is bounded in time and memory, and takes one statement.
func (o Options) refuses(t *testing.T) {
	for _, sql := range []string{
		"", "SELECT 1; SELECT 2", "SELEC 1", "SELECT 'a", "SELECT 1\x00", ";",
		"SELECT " + strings.Repeat("- ", 100000) + "a", strings.Repeat(" ", 1<<20) + "SELECT 1",
		"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"SELECT " + strings.Repeat("NOT ", 100000) + "1",
		"SELECT " + strings.Repeat("1+", 20000) + "1",
		"SELECT '" + strings.Repeat("x", 1<<20) + "'",
	} {
		if st, err := o.Dialect.Parse(sql); err == nil && st.Opaque == "" {
			t.Errorf("no error for %.40q", sql)
		}
	}
}
