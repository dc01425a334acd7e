package sqlfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite/lex"
)

func TestEach(t *testing.T) {
	mysql := &lex.Rules{Backtick: true, DoubleString: true, Backslash: true, HashComment: true, DashSpace: true, ExecComment: true}
	postgres := &lex.Rules{EString: true, DollarString: true, NestedComment: true}
	for _, c := range []struct {
		name     string
		lexRules *lex.Rules
		sql      string
		want     []string // line:words
	}{
		{"empty", mysql, " ;; -- nothing\n/* x; y */ ;", nil},
		{"two", mysql, "create table `a b` (x int default ';');\n\n# c;\ninsert into t values (1)", []string{"1:CREATE TABLE A B X INT DEFAULT", "4:INSERT INTO T VALUES"}},
		{"trigger", mysql, "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW BEGIN IF a THEN SET b = 1; END IF; SELECT CASE WHEN a THEN b END; END;\nDROP TABLE t;",
			[]string{"1:CREATE TRIGGER X BEFORE UPDATE ON T FOR EACH ROW BEGIN IF A THEN SET B", "2:DROP TABLE T"}},
		{"delimiter", mysql, "DROP TABLE a;\nDELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END //\nDROP TABLE b //\ndelimiter ;\nDROP TABLE c",
			[]string{"1:DROP TABLE A", "3:CREATE PROCEDURE P BEGIN SELECT END", "4:DROP TABLE B", "6:DROP TABLE C"}},
		{"column called event", mysql, "CREATE TABLE t (event int, begin int); DROP TABLE t", []string{"1:CREATE TABLE T EVENT INT BEGIN INT", "1:DROP TABLE T"}},
		{"copy", postgres, "\\restrict x'y\nCOPY public.t (id) FROM stdin;\n1\tit's\n\\.\n\nCREATE TABLE u (x int);", []string{"2:COPY PUBLIC T ID FROM STDIN", "6:CREATE TABLE U X INT"}},
		{"function", postgres, "CREATE FUNCTION f() RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql;\nDROP TABLE t", []string{"1:CREATE FUNCTION F RETURNS INT AS LANGUAGE SQL", "2:DROP TABLE T"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			err := Each(c.lexRules, c.sql, func(s Statement) error {
				got = append(got, fmt.Sprintf("%d:%s", s.Line, strings.Join(s.Words, " ")))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
	err := Each(mysql, "\nDROP  TABLE\nt", func(Statement) error { return errors.New("no") })
	if err == nil || err.Error() != "line 2: DROP TABLE t: no" {
		t.Error(err)
	}
}
