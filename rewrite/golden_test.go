package rewrite_test

import (
	"flag"
	"os/exec"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/rewrite"
)

var update = flag.Bool("update", false, "write the plans into the golden cases")

func mariaDB() *mysql.Dialect {
	d := mysql.New()
	d.NoWait, d.MariaDB = true, true
	return d
}

var engines = map[string]dialect.Dialect{"mysql": mariaDB(), "postgres": postgres.New(), "sqlite": sqlite.New()}

// TestGolden plans the statement of every case in testdata and compares the
// plan with the one that is written there; -update first records the tables of the schemas,
// then writes the plans.
func TestGolden(t *testing.T) {
	if *update {
		record := exec.CommandContext(t.Context(), "go", "test", "-C", "../cmd/slotsql", "./internal/schemafile", "-run", "^TestRecorded$", "-update")
		if out, err := record.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range cases(t) {
		t.Run(c.Class+"/"+c.Name, func(t *testing.T) {
			plans := map[string]string{}
			here := false
			for _, d := range c.Dialects {
				s, plan := planned(t, c, d)
				plans[d] = golden.Print(engines[d].LexRules(), s.SQL, plan, s.AllSteps)
				here = here || string(plan.Class) == c.Class
				if want := c.Plan(d); !*update && plans[d] != want {
					t.Errorf("%s: the plan is\n%s\nnot\n%s\n(-update writes it)", d, plans[d], want)
				}
			}
			if !here {
				t.Errorf("no dialect's plan is of class %s: the case belongs into another directory\n%v", c.Class, plans)
			}
			if *update {
				if err := c.Update(plans); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func cases(t testing.TB) []*golden.Case {
	t.Helper()
	list, err := golden.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no cases in testdata")
	}
	return list
}

// planned returns the statement of a case and its plan.
func planned(t testing.TB, c *golden.Case, dialect string) (golden.Statement, *rewrite.Plan) {
	t.Helper()
	s, err := c.Statement(dialect)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner(t, c, dialect).Plan(s.SQL)
	if err != nil {
		t.Fatalf("%s: %v", dialect, err)
	}
	return s, plan
}

func planner(t testing.TB, c *golden.Case, dialect string) *rewrite.Planner {
	t.Helper()
	pl, err := newPlanner(dialect, c.Schema(dialect), c.Config())
	if err != nil {
		t.Fatalf("%s: %v", dialect, err)
	}
	return pl
}

func newPlanner(dialect string, schema []string, config string) (*rewrite.Planner, error) {
	d := engines[dialect]
	tables, err := golden.Tables("testdata", dialect, schema)
	if err != nil {
		return nil, err
	}
	catalog, err := golden.NewCatalog(d, tables, config)
	if err != nil {
		return nil, err
	}
	return &rewrite.Planner{Dialect: d, Catalog: catalog}, nil
}
