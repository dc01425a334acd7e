package golden

import (
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite"
)

// Statements that differ only in white space are printed differently, and nothing is broken up within quotes or comments.
func TestPrintIsExact(t *testing.T) {
	long := "SELECT a FROM t WHERE b = 'some text that is as long as a whole line of a golden case, nearly' AND c = 1 AND d = 2 OR e"
	statements := []string{
		"SELECT a FROM t", "SELECT a  FROM t", "SELECT a\nFROM t", "SELECT a\n  FROM t", " SELECT a FROM t", "  SELECT a FROM t",
		"SELECT a FROM t ", "SELECT a FROM t\n", "SELECT a FROM t\n\n", "SELECT a FROM\tt",
		"SELECT 'a FROM t' FROM t", "SELECT 'a  FROM t' FROM t", "SELECT 'a\n  FROM t' FROM t", `SELECT "a FROM t" FROM t`,
		"SELECT $$a FROM t$$ FROM t", "SELECT $x$a\nFROM t$x$ FROM t", "SELECT $x$a\n FROM t$x$ FROM t",
		"SELECT a /* b FROM c */ FROM t", "SELECT a/* b FROM c */FROM t", "SELECT a -- b FROM c\nFROM t", "SELECT a -- b FROM c\n FROM t",
		long, strings.Replace(long, " AND d", "  AND d", 1), strings.Replace(long, " AND d", "\nAND d", 1),
		"SELECT 1 IN (" + long + ")", "SELECT 1 IN ( " + long + ")", "SELECT 1 IN (" + long + " )", "SELECT 1 IN(" + long + ")",
	}
	whole := []string{"'a FROM t'", "'a  FROM t'", `"a FROM t"`, "$$a FROM t$$", "/* b FROM c */", "-- b FROM c"}
	by := map[string]string{}
	for _, sql := range statements {
		printed := Print(postgres.New().LexRules(), "", &rewrite.Plan{Class: rewrite.Read, SQL: sql}, false)
		if other, same := by[printed]; same {
			t.Errorf("%q and %q are both printed as\n%s", other, sql, printed)
		}
		by[printed] = sql
		for _, w := range whole {
			if strings.Contains(sql, w) && !strings.Contains(printed, w) {
				t.Errorf("%s is broken up:\n%s", w, printed)
			}
		}
	}
}

// What all dialects have in common is written once, and the sections of each hold its plan.
func TestMerged(t *testing.T) {
	plans := map[string]string{
		"mysql":    "class: a\nup: 1\n  in: 2\nlast: 3\n",
		"postgres": "class: a\nup: 1\n  in: 4\nlast: 3\n",
		"sqlite":   "class: a\nup: 1\n  in: 4\nlast: 3\n",
	}
	want := []section{
		{"mysql, postgres, sqlite", "class: a\n"}, {"mysql", "up: 1\n  in: 2\n"}, {"postgres, sqlite", "up: 1\n  in: 4\n"},
		{"mysql, postgres, sqlite", "last: 3\n"},
	}
	got := merged(Dialects, plans)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	c := &Case{archive: &archive{Sections: got}}
	for d, plan := range plans {
		if c.Plan(d) != plan {
			t.Errorf("%s: %q", d, c.Plan(d))
		}
	}
}
