package sqlite

import (
	"fmt"
	"strings"
	"testing"
)

// A total compares, sorts and presents itself as the plain column of the same
// value: every query gives the same over a table with slots and over a copy
// with the totals in its base column.
func TestTotalIsTheColumn(t *testing.T) {
	bothForeignKeys(t, func(t *testing.T, on bool) {
		e := open(
			t,
			on,
			"CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER)",
			"CREATE TABLE twin (id INTEGER PRIMARY KEY, views INTEGER)",
			"CREATE TABLE o (t TEXT, n TEXT COLLATE NOCASE, i INTEGER, r REAL, x)",
			"INSERT INTO o VALUES ('7','7',7,7,7), ('abc','ABC',10,7.5,'7'), ('10','007',NULL,0.5,x'37'), ('1.5','1.5',1,1.5,1.5), ('07','7.0',7,7,'10')",
			"INSERT INTO p VALUES (1, 5), (2, NULL), (3, 'abc'), (4, 1.5), (5, x'37'), (6, 70), (7, 10), (8, 'ABC'), (9, 9007199254740993)",
		)
		p := e.counters("p", []string{"id"}, "views")
		for _, s := range []string{"1", "1", "6"} {
			e.add(p, "id = "+s, 1, map[string]string{"1": "1", "6": "-70"}[s], "views")
		}
		e.add(p, "id = 9", 1, "1", "views")
		e.exec("INSERT INTO twin SELECT * FROM p")
		e.exec("UPDATE twin SET views = CASE id WHEN 1 THEN 7 WHEN 6 THEN 0 WHEN 9 THEN 9007199254740994 END WHERE id IN (1, 6, 9)")

		compare := func(query string, args ...any) {
			t.Helper()
			run := func(sql string) string {
				rows, err := e.Conn.QueryContext(t.Context(), sql, args...)
				if err != nil {
					return err.Error()
				}
				types, _ := rows.ColumnTypes()
				var decl []string
				for _, c := range types {
					decl = append(decl, c.DatabaseTypeName())
				}
				_ = rows.Close()
				return fmt.Sprint(decl, " ", e.query(sql, args...))
			}
			plain := run(strings.NewReplacer("<v>", "q.views", "<p>", "twin").Replace(query))
			for _, comparable := range []bool{false, true} {
				got := run(strings.NewReplacer("<v>", New().Total(p, "q", "views", comparable), "<p>", "p").Replace(query))
				if got != plain {
					t.Errorf("%s %v\ngot   %s\nplain %s", query, args, got, plain)
				}
			}
		}
		compare("SELECT <v> AS views, typeof(<v>) FROM <p> AS q ORDER BY id")
		compare("SELECT id FROM <p> AS q ORDER BY <v>, id")
		compare("SELECT id FROM <p> AS q ORDER BY <v> DESC, id LIMIT 4")
		compare("SELECT <v>, COUNT(*) FROM <p> AS q GROUP BY <v> HAVING <v> > '0'")
		compare("SELECT SUM(<v>), MAX(<v>), MIN(<v>), AVG(<v>), COUNT(<v>) FROM <p> AS q WHERE id NOT IN (3, 5, 8)")
		compare("SELECT id, MAX(<v>) FROM <p> AS q")
		compare("SELECT id, rank() OVER (ORDER BY <v>) FROM <p> AS q ORDER BY id")
		compare("SELECT DISTINCT <v> > 5 FROM <p> AS q ORDER BY 1")
		compare("SELECT (SELECT <v>) FROM <p> AS q ORDER BY id")
		compare("SELECT o.rowid, q.id FROM o LEFT JOIN <p> AS q ON o.i = q.id AND <v> > '3' ORDER BY 1, 2")
		compare("SELECT o.rowid, <v> FROM o LEFT JOIN <p> AS q ON o.i = q.id + 6 ORDER BY 1")
		for _, column := range []string{"o.t", "o.n", "o.i", "o.r", "o.x", "+o.t", "CAST(o.t AS TEXT)", "(SELECT o.t)", "o.t || ''"} {
			for _, op := range []string{"=", "<", ">=", "IS", "<>"} {
				compare("SELECT o.rowid, q.id FROM o, <p> AS q WHERE <v> " + op + " " + column + " AND q.id NOT IN (3, 8) ORDER BY 1, 2")
				compare("SELECT o.rowid, q.id FROM o, <p> AS q WHERE " + column + " " + op + " <v> AND q.id NOT IN (3, 8) ORDER BY 1, 2")
			}
			compare("SELECT o.rowid, q.id FROM o, <p> AS q WHERE <v> IN (SELECT " + column + ") AND q.id NOT IN (3, 8) ORDER BY 1, 2")
		}
		for _, where := range []string{
			"> '5'", "= '7'", "== 7.0", "IN ('7', '1.5', 'abc')", "IN (SELECT t FROM o)", "NOT IN ('7', 0)",
			"BETWEEN '1' AND '7'", "NOT BETWEEN 1 AND '7'", "< 'zzz'", "IS '7'", "IS NOT NULL", "ISNULL", "LIKE '7%'",
			"= x'37'", "= '7' COLLATE NOCASE", "= 'abc'", "= (SELECT '7')", "IN (VALUES ('7'), ('70'))",
			"|| 'x' = '7x'", "+ 1 = '8'",
		} {
			compare("SELECT id FROM <p> AS q WHERE <v> " + where + " ORDER BY id")
			compare(
				"SELECT id, CASE <v> WHEN '7' THEN 'seven' END, CASE WHEN <v> " + where + " THEN 1 ELSE 0 END FROM <p> AS q ORDER BY id",
			)
		}
		for _, arg := range []any{"7", 7, 7.0, []byte("7"), "abc", nil} {
			compare("SELECT id FROM <p> AS q WHERE <v> = ? ORDER BY id", arg)
			compare("SELECT id FROM <p> AS q WHERE ? >= <v> ORDER BY id", arg)
			compare("SELECT id FROM <p> AS q WHERE <v> IN (?, '10') ORDER BY id", arg)
			compare("SELECT id FROM <p> AS q WHERE (<v>, id) = (?, 1) ORDER BY id", arg)
		}
	})
}

// Slots of one counter leave the value of another as it is.
func TestTotalBesideAnother(t *testing.T) {
	e := open(t, true, "CREATE TABLE p (id INTEGER PRIMARY KEY, views INTEGER, likes INTEGER)",
		"INSERT INTO p VALUES (1, 5, 'abc'), (2, 5, x'31'), (3, 5, NULL), (4, 5, 1.5), (5, 5, 'x')")
	p := e.counters("p", []string{"id"}, "views", "likes")
	for id := 1; id <= 4; id++ {
		e.add(p, fmt.Sprintf("id = %d", id), 1, "2", "views")
	}
	e.total("7|abc; 7|[49]; 7|<nil>; 7|1.5; 5|x", p, "id")
	e.fold(p, "id = 1")
	e.fold(p, "")
	e.want("7|abc; 7|[49]; 7|<nil>; 7|1.5; 5|x", "SELECT views, likes FROM p ORDER BY id")
}

// The statements of a drain and of a point read look rows up by key.
func TestAccessPaths(t *testing.T) {
	e := open(t, true, "CREATE TABLE p (a TEXT COLLATE NOCASE, b INTEGER, views INTEGER, PRIMARY KEY (a, b))")
	p := e.counters("p", []string{"a", "b"}, "views")
	for _, sql := range append(New().Fold(p, scopeOf("a = 'x' AND b = 1")),
		"SELECT "+New().Total(p, "q", "views", true)+" FROM p AS q WHERE a = 'x' AND b = 1") {
		plan := e.query("EXPLAIN QUERY PLAN " + sql)
		if strings.Contains(plan, "SCAN p") || strings.Contains(plan, "SCAN slotsql") || strings.Contains(plan, "SCAN q") {
			t.Errorf("%s\n%s", sql, plan)
		}
	}
}
