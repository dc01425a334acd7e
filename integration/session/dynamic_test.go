package session

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// dynamicSchema has a view and routines over a counter table, and a table that
// has nothing to do with it.
var dynamicSchema = []string{
	"CREATE TABLE posts (id INTEGER PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 10), (2, 20)",
	"CREATE TABLE plain (n INTEGER)", "INSERT INTO plain VALUES (1)",
	"CREATE VIEW ranked AS SELECT id, views FROM posts WHERE views > 0",
	"CREATE FUNCTION views_of(k INT) RETURNS BIGINT READS SQL DATA RETURN (SELECT views FROM posts WHERE id = k)",
	"CREATE PROCEDURE double_views(k INT) UPDATE posts SET views = views * 2 WHERE id = k",
}

func newDynamic(t *testing.T, params string) both {
	t.Helper()
	return pinned(t, twin.New(t, twin.Options{
		Dialect: "mysql", Schema: dynamicSchema, Params: params,
		Config: "version: 1\nauto_migrate: true\ntables: {posts: {routines: [double_views, views_of], counters: {views: {}}}}",
	}))
}

var dynamicTotals = twin.Statement{SQL: "SELECT id, views FROM posts ORDER BY id"}

// around counts, runs a statement, and compares what is left of both.
func (b both) around(t *testing.T, statements ...string) {
	t.Helper()
	for _, query := range statements {
		b.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
		b.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 3 WHERE id = 2"})
		b.same(t, twin.Statement{SQL: query})
		b.same(t, dynamicTotals)
		b.same(t, twin.Statement{SQL: "SELECT @x, @y"})
	}
}

// What a variable is set to meets totals.
func TestSetCallsRoutine(t *testing.T) {
	t.Parallel()
	one := newDynamic(t, "")
	one.around(
		t,
		"SET @x = views_of(1)",
		"SET @x := (SELECT MAX(views) FROM ranked), @y = views_of(2)",
		"SELECT views_of(1) INTO @x",
		"SET @x = 1",
		"DO @x := views_of(2)",
		"SET @x = (SELECT views FROM posts WHERE id = 1)",
	)
}

// A statement may be the value of an expression: it names no table then.
func TestDynamicStatements(t *testing.T) {
	t.Parallel()
	one := newDynamic(t, "")
	one.same(
		t,
		twin.Statement{
			SQL: "SET @n = 0, @sum = 'SELECT SUM(views) INTO @x FROM posts', @set = 'UPDATE posts SET views = 5 WHERE id = ?', @other = 'SELECT n FROM plain', @k = 1, @view = 'SELECT MAX(views) INTO @y FROM ranked'",
		},
	)
	one.around(
		t,
		"EXECUTE IMMEDIATE @sum",
		"EXECUTE IMMEDIATE @set USING @k",
		"EXECUTE IMMEDIATE @view",
		"EXECUTE IMMEDIATE CONCAT(@sum, ' WHERE id = ', @k)",
		"EXECUTE IMMEDIATE CONCAT('SELECT views ', 'INTO @x FROM po', 'sts WHERE id = 2')",
		"EXECUTE IMMEDIATE 'CALL double_views(1)'",
		`EXECUTE IMMEDIATE 'SELECT views INTO @x FROM p\osts WHERE id = 1'`,
		"EXECUTE IMMEDIATE 'SELECT SUM(n) INTO @x FROM plain'",
		"EXECUTE IMMEDIATE CONCAT('SELECT ', IF((@n := @n + 1) > 1, 'n', 'n + 1'), ' INTO @y FROM plain')",
		"EXECUTE IMMEDIATE @nothing",
		"EXECUTE IMMEDIATE nonsense(1)",
		"PREPARE s FROM @other",
		"EXECUTE s",
		"DEALLOCATE PREPARE s",
		"PREPARE s FROM @nothing",
	)
	for _, query := range []string{"PREPARE s FROM @set", "PREPARE s FROM @view", "PREPARE s FROM 'SELECT views FROM posts'", "PREPARE s FROM CONCAT('SELECT * FROM po', 'sts')"} {
		if _, err := one.wrapped.ExecContext(t.Context(), query); !errors.Is(err, slotsql.ErrUnsupported) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// The same in a call of several statements.
func TestDynamicInsideText(t *testing.T) {
	t.Parallel()
	one := newDynamic(t, "multiStatements=true")
	one.around(
		t,
		"SET @q = 'UPDATE posts SET views = 4 WHERE id = 1'; EXECUTE IMMEDIATE @q",
		"SET @q = 'SELECT SUM(n) INTO @x FROM plain'; PREPARE s FROM @q; EXECUTE s; UPDATE posts SET views = views + 1 WHERE id = 1",
	)
	if _, err := one.wrapped.ExecContext(
		t.Context(),
		"SET @q = 'UPDATE posts SET views = 0'; PREPARE s FROM @q; EXECUTE s",
	); !errors.Is(err, slotsql.ErrUnsupported) {
		t.Error(err)
	}
}

// Compound statements may be sent as they stand in routines (MariaDB).
func TestCompoundStatements(t *testing.T) {
	for _, params := range []string{"", "multiStatements=true"} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			one := newDynamic(t, params)
			one.around(
				t,
				"IF (SELECT SUM(views) FROM posts) > 10 THEN UPDATE posts SET views = 100 WHERE id = 1; UPDATE plain SET n = n + 1; END IF",
				"BEGIN NOT ATOMIC DECLARE k INT DEFAULT 1; UPDATE posts SET views = views * 2 WHERE id = k; SELECT views INTO @x FROM posts WHERE id = k; END",
				"CASE (SELECT views FROM posts WHERE id = 2) WHEN 0 THEN SET @x = 0; ELSE UPDATE posts SET views = views - 1 WHERE id = 2; END CASE;",
				"FOR i IN 1..2 DO UPDATE posts SET views = views + i WHERE id = i; END FOR",
				"again: WHILE (SELECT views FROM posts WHERE id = 1) > 50 DO UPDATE posts SET views = views DIV 2 WHERE id = 1; END WHILE again",
				"FOR r IN (SELECT id, views FROM ranked) DO SET @x = r.views; END FOR",
				"REPEAT UPDATE posts SET views = views + 1 WHERE id = 2; UNTIL (SELECT views FROM posts WHERE id = 2) > 60 END REPEAT",
				"IF 1 THEN UPDATE nosuch SET posts = 1; END IF",
				"IF views_of(1) > 5 THEN SET @y = 7; END IF",
				"IF 1 THEN SET @x = 9; END IF",
			)
			if _, err := one.wrapped.ExecContext(
				t.Context(),
				"BEGIN NOT ATOMIC COMMIT; UPDATE posts SET views = 0; END",
			); !errors.Is(err, slotsql.ErrUnsupported) {
				t.Error(err)
			}
		})
	}
}
