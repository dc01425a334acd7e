package lex_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// Clauses are broken at white space, and nothing else changes.
func TestClauses(t *testing.T) {
	for _, c := range []struct {
		d         dialect.Dialect
		sql, want string
	}{
		{mysql.New(), "select a from t -- from here\nwhere b = 'where x' and c is not distinct from d",
			"select a\nfrom t -- from here\nwhere b = 'where x' and c is not distinct from d"},
		{mysql.New(), "INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE a = a + VALUES(a)",
			"INSERT INTO t (a)\nVALUES (?)\nON DUPLICATE KEY UPDATE a = a + VALUES(a)"},
		{postgres.New(), `DELETE FROM t WHERE extract(epoch FROM "from") > 1 RETURNING a FOR`,
			"DELETE FROM t\nWHERE extract(epoch FROM \"from\") > 1\nRETURNING a\nFOR"},
		{postgres.New(), "SELECT a FROM t WHERE id IN (SELECT id FROM u WHERE a_rather_long_name = 1 AND another_one = 2) FOR NO KEY UPDATE",
			"SELECT a\nFROM t\nWHERE id IN (\n  SELECT id\n  FROM u\n  WHERE a_rather_long_name = 1 AND another_one = 2\n)\nFOR NO KEY UPDATE"},
		{sqlite.New(), "SELECT a)) FROM t UNION ALL SELECT 1 /* one */", "SELECT a))\nFROM t\nUNION ALL\nSELECT 1 /* one */"},
		{sqlite.New(), "/* only */", "/* only */"},
		{sqlite.New(), "SELECT " + strings.Repeat("column_of_some_length, ", 5) + "b",
			"SELECT column_of_some_length, column_of_some_length, column_of_some_length,\n    column_of_some_length, column_of_some_length, b"},
	} {
		got := strings.Join(lex.Clauses(c.d.LexRules(), c.sql, "", 80), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.sql, got, c.want)
		}
		if withoutSpace(got) != withoutSpace(c.sql) {
			t.Errorf("%s has become\n%s", c.sql, got)
		}
	}
}

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
