package mysql

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
	"github.com/slotsql/slotsql/rewrite/ast"
)

func parse(t *testing.T, sql string) *ast.Statement {
	t.Helper()
	st, err := New().Parse(sql)
	if err != nil {
		t.Fatalf("%s\n%v", sql, err)
	}
	return st
}

func TestWhere(t *testing.T) {
	for _, c := range []struct{ where, want string }{
		{"p.id = ?", "bin[p.id = ?](col[p.id] param[?])"},
		{"`p` . `id` = 1", "bin[`p` . `id` = 1](col[`p` . `id`] num[1])"},
		{"id IN (1,2)", "in[id IN (1,2)](col[id] num[1] num[2])"},
		{"id not in (select a from t)", "in[id not in (select a from t)](col[id] sub[(select a from t)]({select a from t} from <t>))"},
		{"LCASE(x)='a' AND y=-1", "bin[LCASE(x)='a' AND y=-1](bin[LCASE(x)='a'](call[LCASE(x)](col[x]) str['a']) bin[y=-1](col[y] un[-1](num[1])))"},
		{"(a = 1) && /* AND */ (b=2)", "bin[(a = 1) && /* AND */ (b=2)](paren[(a = 1)](bin[a = 1](col[a] num[1])) paren[(b=2)](bin[b=2](col[b] num[2])))"},
		{"a between 1 and 2 and c is not null", "bin[a between 1 and 2 and c is not null](opaque[a between 1 and 2](col[a] num[1] num[2]) opaque[c is not null](col[c]))"},
		{"CAST(a AS CHAR(3)) = b", "bin[CAST(a AS CHAR(3)) = b](opaque[CAST(a AS CHAR(3))](col[a]) col[b])"},
		{"case when a=1 then b else c end > 0", "bin[case when a=1 then b else c end > 0](opaque[case when a=1 then b else c end](bin[a=1](col[a] num[1]) col[b] col[c]) num[0])"},
		{"a > now() - interval 1 day and b", "bin[a > now() - interval 1 day and b](bin[a > now() - interval 1 day](col[a] opaque[now() - interval 1 day](call[now()] num[1])) col[b])"},
		{"a like 'x%' escape '!' or b", "bin[a like 'x%' escape '!' or b](opaque[a like 'x%' escape '!'](col[a] str['x%']) col[b])"},
		{"(a,b) = (1, 2)", "bin[(a,b) = (1, 2)](opaque[(a,b)](col[a] col[b]) opaque[(1, 2)](num[1] num[2]))"},
		{"not exists (select 1 from t)", "sub[not exists (select 1 from t)]({select 1 from t} from <t>)"},
		{"a > all (select 1)", "opaque[a > all (select 1)](col[a] sub[(select 1)]({select 1}))"},
		{"a = b collate utf8mb4_bin", "bin[a = b collate utf8mb4_bin](col[a] opaque[b collate utf8mb4_bin](col[b]))"},
		{"j->>'$.a' = 1", "bin[j->>'$.a' = 1](opaque[j->>'$.a'](col[j] str['$.a']) num[1])"},
		{"date_add(a, interval ? hour) < extract(year from b)", "bin[date_add(a, interval ? hour) < extract(year from b)](call[date_add(a, interval ? hour)](col[a] param[?]) call[extract(year from b)](col[b]))"},
		{"trim(both 'x' from a) = substring(b from 2 for 3)", "bin[trim(both 'x' from a) = substring(b from 2 for 3)](call[trim(both 'x' from a)](str['x'] col[a]) call[substring(b from 2 for 3)](col[b] num[2] num[3]))"},
		{"a!=-b and c<=>null", "bin[a!=-b and c<=>null](bin[a!=-b](col[a] un[-b](col[b])) bin[c<=>null](col[c] null[null]))"},
		{"a = 'it''s' 'x' and @v = @@x.y", "bin[a = 'it''s' 'x' and @v = @@x.y](bin[a = 'it''s' 'x'](col[a] str['it''s' 'x']) bin[@v = @@x.y](opaque[@v] opaque[@@x.y]))"},
		{"!a = b", "bin[!a = b](un[!a](col[a]) col[b])"},
		{"match (a, b) against (? in boolean mode)", "opaque[match (a, b) against (? in boolean mode)](col[a] col[b] param[?])"},
		{"convert(a using utf8mb4) = char(65, 66 using utf8mb4)", "bin[convert(a using utf8mb4) = char(65, 66 using utf8mb4)](call[convert(a using utf8mb4)](col[a]) call[char(65, 66 using utf8mb4)](num[65] num[66]))"},
		{"timestampdiff(day, a, b) % 2 = mod(a, 2)", "bin[timestampdiff(day, a, b) % 2 = mod(a, 2)](bin[timestampdiff(day, a, b) % 2](call[timestampdiff(day, a, b)](col[a] col[b]) num[2]) call[mod(a, 2)](col[a] num[2]))"},
		{"a = 0x1F and b = x'00' and c = true and d = _utf8'x'", "bin[a = 0x1F and b = x'00' and c = true and d = _utf8'x'](bin[a = 0x1F and b = x'00' and c = true](bin[a = 0x1F and b = x'00'](bin[a = 0x1F](col[a] opaque[0x1F]) bin[b = x'00'](col[b] opaque[x'00'])) bin[c = true](col[c] opaque[true])) bin[d = _utf8'x'](col[d] opaque[_utf8'x']))"},
	} {
		sql := "UPDATE t AS p SET c = c + 1 WHERE " + c.where + " /* end */"
		st := parse(t, sql)
		if st.Opaque != "" {
			t.Errorf("%s\nopaque: %s", c.where, st.Opaque)
			continue
		}
		if got := dump(sql, st.Where); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.where, got, c.want)
		}
	}
}

func TestAssignments(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"c=c+-1", "bin[c+-1](col[c] un[-1](num[1]))"},
		{"c = c -2.0", "bin[c -2.0](col[c] num[2.0])"},
		{"c=-1", "un[-1](num[1])"},
		{"t.c = ? + COALESCE(`t`.`c`, 0)", "bin[? + COALESCE(`t`.`c`, 0)](param[?] call[COALESCE(`t`.`c`, 0)](col[`t`.`c`] num[0]))"},
		{"c := c + '1'", "bin[c + '1'](col[c] str['1'])"},
		{"c = (c + 1)", "paren[(c + 1)](bin[c + 1](col[c] num[1]))"},
		{"c = DEFAULT", "-"},
		{"c = IF(c > 0, c - 1, 0)", "call[IF(c > 0, c - 1, 0)](bin[c > 0](col[c] num[0]) bin[c - 1](col[c] num[1]) num[0])"},
	} {
		sql := "UPDATE t SET " + c.set
		st := parse(t, sql)
		if st.Opaque != "" || len(st.Set) != 1 {
			t.Errorf("%s: opaque %q", c.set, st.Opaque)
			continue
		}
		if got := dump(sql, st.Set[0].Value); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.set, got, c.want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		sql  string
		kind ast.Kind
	}{
		{"SELECT 1", ast.KindSelect},
		{"(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1 LIMIT 1", ast.KindSelect},
		{"INSERT INTO t VALUES (1)", ast.KindInsert},
		{"REPLACE INTO t SET a = 1", ast.KindInsert},
		{"UPDATE t SET a = 1", ast.KindUpdate},
		{"DELETE FROM t", ast.KindDelete},
		{"TRUNCATE t", ast.KindTruncate},
		{"DROP TABLE IF EXISTS a, b", ast.KindDrop},
		{"DROP VIEW v", ast.KindDDL},
		{"CREATE TABLE t (a int)", ast.KindDDL},
		{"CREATE VIEW v AS SELECT 1", ast.KindDDL},
		{"ALTER TABLE t ADD COLUMN b int", ast.KindDDL},
		{"RENAME TABLE a TO b", ast.KindDDL},
		{"EXPLAIN SELECT * FROM t", ast.KindExplain},
		{"EXPLAIN FORMAT=JSON SELECT * FROM t", ast.KindExplain},
		{"EXPLAIN UPDATE t SET a = 1", ast.KindExplain},
		{"DESCRIBE t", ast.KindSession},
		{"SHOW CREATE TABLE t", ast.KindSession},
		{"SET autocommit = 0", ast.KindSession},
		{"SET @x = (SELECT a FROM t)", ast.KindReads},
		{"USE d", ast.KindSession},
		{"BEGIN", ast.KindSession},
		{"START TRANSACTION", ast.KindSession},
		{"COMMIT", ast.KindSession},
		{"ROLLBACK TO SAVEPOINT a", ast.KindSession},
		{"SAVEPOINT a", ast.KindSession},
		{"RELEASE SAVEPOINT a", ast.KindSession},
		{"CALL p(1)", ast.Other},
		{"DO SLEEP(0)", ast.KindReads},
		{"LOCK TABLES t WRITE", ast.Other},
		{"LOAD DATA INFILE 'x' INTO TABLE t", ast.Other},
		{"PREPARE s FROM 'select 1'", ast.Other},
	} {
		st := parse(t, c.sql)
		if st.Kind != c.kind {
			t.Errorf("%s: kind %d, want %d", c.sql, st.Kind, c.kind)
		}
		if c.kind == ast.Other && st.Opaque == "" {
			t.Errorf("%s: other, but not opaque", c.sql)
		}
		if c.kind != ast.Other && st.Opaque != "" {
			t.Errorf("%s: opaque: %s", c.sql, st.Opaque)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, sql := range []string{
		"SELECT /*! 1 */", "SELECT /*M! 1 */", "SELECT 1 /* x", "UPDATE t SET c=c+1 WHERE id=1 RETURNING c", "SELECT FROM",
		"SELECT " + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300),
	} {
		if _, err := New().Parse(sql); err == nil {
			t.Errorf("%.60s: no error", sql)
		}
	}
	if st := parse(t, "SELECT "+strings.Repeat("9", 120)); st.Opaque != "" {
		t.Errorf("long literal: %s", st.Opaque)
	}
}

func TestOpaque(t *testing.T) {
	for _, sql := range []string{
		"SELECT @a := c FROM t",
		"SELECT DEFAULT(c) FROM t",
		"SELECT VALUE(c) FROM t",
		"SELECT 1 INTO OUTFILE 'x' FROM t",
		"SELECT 1a FROM (SELECT 1 AS 1a) x",
	} {
		if st, err := New().Parse(sql); err == nil && st.Opaque == "" {
			t.Errorf("%s: not opaque", sql)
		}
	}
}

func TestSelects(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT a, b AS x FROM t, (u JOIN v ON u.i = v.i) LEFT JOIN w USING (i) WHERE 1", "{SELECT a, b AS x FROM t, (u JOIN v ON u.i = v.i) LEFT JOIN w USING (i) WHERE 1} from <t> from ((<u> join <v>) join <w>)"},
		{"SELECT * FROM a JOIN b JOIN c ON b.i = c.i, d", "{SELECT * FROM a JOIN b JOIN c ON b.i = c.i, d} from ((<a> join <b>) join <c>) from <d>"},
		{"SELECT * FROM ((a JOIN b) JOIN c)", "{SELECT * FROM ((a JOIN b) JOIN c)} from ((<a> join <b>) join <c>)"},
		{"SELECT * FROM t p FORCE INDEX (PRIMARY), d.`u` AS q", "{SELECT * FROM t p FORCE INDEX (PRIMARY), d.`u` AS q} from <t p> from <d.`u` AS q>"},
		{"(SELECT 1 FROM a) UNION SELECT 2 FROM b ORDER BY 1", "{(SELECT 1 FROM a) UNION SELECT 2 FROM b ORDER BY 1} op{SELECT 1 FROM a} from <a> op{SELECT 2 FROM b} from <b>"},
		{"SELECT 1 FROM (((SELECT 1) UNION (SELECT 2))) x", "{SELECT 1 FROM (((SELECT 1) UNION (SELECT 2))) x} from derived"},
		{"WITH x(a) AS (SELECT 1) SELECT * FROM x", "{WITH x(a) AS (SELECT 1) SELECT * FROM x} from <x>"},
		{"SELECT SQL_CALC_FOUND_ROWS DISTINCT a FROM t GROUP BY a WITH ROLLUP HAVING COUNT(*) > 1 ORDER BY a DESC LIMIT ?, ?", "{SELECT SQL_CALC_FOUND_ROWS DISTINCT a FROM t GROUP BY a WITH ROLLUP HAVING COUNT(*) > 1 ORDER BY a DESC LIMIT ?, ?} from <t>"},
		{"SELECT SUM(c) OVER w, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ',') FROM t WINDOW w AS (ORDER BY c)", "{SELECT SUM(c) OVER w, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ',') FROM t WINDOW w AS (ORDER BY c)} from <t>"},
	} {
		st := parse(t, c.sql)
		if st.Opaque != "" {
			t.Errorf("%s\nopaque: %s", c.sql, st.Opaque)
			continue
		}
		if got := dumpSelect(c.sql, st.Select); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
	for _, sql := range []string{"SELECT 1 FROM t FOR UPDATE", "SELECT 1 FROM t LOCK IN SHARE MODE", "SELECT 1 FROM t FOR SHARE SKIP LOCKED", "SELECT 1 FROM (SELECT 1 FROM t FOR UPDATE) x"} {
		st := parse(t, sql)
		q := st.Select
		if len(q.From) == 1 && q.From[0].Select != nil {
			q = q.From[0].Select
		}
		if !q.Lock || st.Opaque != "" {
			t.Errorf("%s: lock %v, opaque %q", sql, q.Lock, st.Opaque)
		}
	}
}

func TestWrites(t *testing.T) {
	sql := "INSERT IGNORE INTO d.t (a, `b`) VALUES (1, DEFAULT), (?, 'x') ON DUPLICATE KEY UPDATE b = VALUES(b) + t.b"
	st := parse(t, sql)
	if st.Opaque != "" || !st.Modifier || len(st.Columns) != 2 || len(st.Rows) != 2 || sql[st.Target.Start:st.Target.End] != "d.t" {
		t.Errorf("%+v", st)
	}
	if got, want := dump(sql, st.Conflict.Set[0].Value), "bin[VALUES(b) + t.b](excl[VALUES(b)] col[t.b])"; got != want {
		t.Errorf("got %s", got)
	}
	st = parse(t, "INSERT t SET a = 1, b = ?")
	if len(st.Set) != 2 || len(st.Rows) != 0 || st.Modifier {
		t.Errorf("%+v", st)
	}
	st = parse(t, "INSERT INTO t (a) (SELECT 1 FROM u)")
	if st.Opaque != "" || st.Select == nil || len(st.Columns) != 1 {
		t.Errorf("%+v", st)
	}
	st = parse(t, "INSERT INTO t SELECT a, b FROM u ON DUPLICATE KEY UPDATE a = u.a")
	if st.Opaque != "" || st.Select == nil || st.Conflict == nil {
		t.Errorf("%+v", st)
	}
	st = parse(t, "UPDATE t AS p, u SET p.a = u.a WHERE p.i = u.i")
	if st.Opaque != "" || st.Target != nil || len(st.From) != 2 {
		t.Errorf("%+v", st)
	}
	st = parse(t, "DELETE p, u.* FROM t AS p JOIN u ON p.i = u.i WHERE p.a = 1")
	if st.Opaque != "" || st.Target != nil || len(st.DeleteFrom) != 2 || len(st.From) != 1 {
		t.Errorf("%+v", st)
	}
	st = parse(t, "DELETE FROM p USING t AS p WHERE p.a = 1")
	if st.Opaque != "" || len(st.DeleteFrom) != 1 || len(st.From) != 1 {
		t.Errorf("%+v", st)
	}
	for sql, want := range map[string]string{
		"UPDATE LOW_PRIORITY t p SET a = 1 ORDER BY b LIMIT 1": "t p",
		"UPDATE t PARTITION (p0) AS x SET a = 1":               "t PARTITION (p0) AS x",
		"UPDATE t x USE INDEX (i) SET a = 1":                   "t x",
		"DELETE QUICK FROM d . t WHERE a = 1":                  "d . t",
	} {
		st := parse(t, sql)
		if st.Opaque != "" || !st.Modifier || sql[st.Target.Start:st.Target.End] != want {
			t.Errorf("%s: %+v", sql, st)
		}
	}
	if st := parse(t, "UPDATE t AS p SET a = 1"); st.Modifier {
		t.Error("modifier without one")
	}
}

// FuzzParse holds that Parse returns, and that what it returns keeps the rules of
// dialecttest.Spans.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"UPDATE posts SET views = views + 1 WHERE id = ?",
		"UPDATE `p` AS x SET x.c=x.c+-1, d = ? WHERE (id IN (1,?) OR a BETWEEN ? AND 2) LIMIT ?",
		"INSERT INTO t (a,b) VALUES (?,1),(DEFAULT,?) ON DUPLICATE KEY UPDATE b=b+VALUES(b)",
		"SELECT p.*, COUNT(DISTINCT x) FROM p JOIN (SELECT 1 a UNION SELECT ?) q ON q.a=p.a GROUP BY 1 HAVING c>? ORDER BY 2 DESC LIMIT ?,?",
		"WITH RECURSIVE a AS (SELECT 1) SELECT CASE x WHEN ? THEN b END, LAG(c, ?, 0) OVER (PARTITION BY a ORDER BY b ROWS ? PRECEDING) FROM a FOR UPDATE",
		"DELETE a FROM a LEFT JOIN b USING (i) WHERE b.i IS NULL",
		"SELECT d + INTERVAL ? DAY, j->'$.x', TRIM(LEADING ? FROM a), CONVERT(a, CHAR(3)), {d '2020-01-01'}, DATE '2020-01-01'",
		"SELECT 1 FROM (((SELECT 1) UNION (SELECT 2))) x",
		"EXPLAIN SELECT 'a' 'b', x'00', 1e5, .5, 0x1F, _utf8'x', NULL, TRUE",
	} {
		f.Add(s)
	}
	d := New()
	f.Fuzz(func(t *testing.T, sql string) {
		if st, err := d.Parse(sql); err == nil {
			dialecttest.Spans(t, d, sql, st)
		}
	})
}
