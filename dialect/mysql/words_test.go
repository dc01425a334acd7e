package mysql

import (
	"strings"
	"testing"
)

// What is a name to MariaDB and reserved by the parser is a name, in its own letters; to MySQL 8 it is not.
func TestWordsFreeInMariaDB(t *testing.T) {
	d := New()
	d.MariaDB = true
	for _, sql := range []string{
		"SELECT rank FROM t AS Groups",
		"INSERT INTO groups (rank, `row`) VALUES (1, 2)",
		"INSERT INTO rank(id) VALUES (1)",
		"UPDATE groups g SET g.rank = lead + 1 WHERE g.option = 'rank'",
		"SELECT LAST_VALUE(x) OVER (ORDER BY lag) AS last_value, DATABASE() schema FROM t",
		"WITH rank AS (SELECT 1 AS array) SELECT r.array FROM rank r",
	} {
		if _, err := New().Parse(sql); err == nil {
			t.Errorf("MySQL takes %s", sql)
		}
		st, err := d.Parse(sql)
		if err != nil || st.Opaque != "" {
			t.Errorf("%s\n%v %v", sql, err, st)
		}
	}
	for _, sql := range []string{
		"SELECT rank FROM t AS rank (",
		"SELECT ran$, rank FROM t", // what would stand in for the word is a name of the statement
		"SELECT SUM(x) OVER window FROM rank t WINDOW window AS (ORDER BY y)",
	} {
		if st, err := d.Parse(sql); err == nil {
			t.Errorf("%s\nparsed: %+v", sql, st)
		}
	}
}

// The names of tables and columns are the statement's, wherever they are taken from.
func TestWordsKeepTheirLetters(t *testing.T) {
	d := New()
	d.MariaDB = true
	for sql, want := range map[string]string{
		"SELECT 1 FROM Groups":  "Groups",
		"TRUNCATE TABLE Groups": "Groups",
		"DROP TABLE Groups":     "Groups",
		"UPDATE Groups SET a = 1 WHERE MATCH(rank) AGAINST(1)": "Groups",
		"CREATE TABLE x (Rank INT) SELECT 1 AS y FROM groups":  "x,groups",
	} {
		st, err := d.Parse(sql)
		if err != nil {
			t.Errorf("%s\n%v", sql, err)
			continue
		}
		var names []string
		for _, n := range st.Tables {
			names = append(names, n[len(n)-1].Name)
		}
		if st.Select != nil && len(names) == 0 {
			names = append(names, st.Select.From[0].Name[0].Name)
		}
		if st.Target != nil {
			names = append(names, st.Target.Name[0].Name)
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s\ntables %s, not %s", sql, got, want)
		}
	}
}
