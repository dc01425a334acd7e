package catalog_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/integration/golden"
)

var updateRollUp = flag.Bool("update-rollup", false, "rewrite testdata/rollup")

const rollUpConfigText = `
version: 1
tables:
  posts: {counters: {views: }}
  pairs: {counters: {n: , m: }, companions: {seen: latest, top: max}}
  hits: {key: [], counters: {cnt: }}
  days: {counters: {n: }, companions: {top: max, seen: latest}, layout: journal}
  orders: {counters: {n: }, layout: journal}
`

// The statements of the roll-up on every engine: of a table with one counter, of one
// with a key of two columns, two counters and companions, and of one without key;
// from the beginning without an end, and between two keys.
func TestRollUpStatements(t *testing.T) {
	for _, d := range []dialect.Dialect{mysql.New(), postgres.New(), sqlite.New()} {
		t.Run(d.Name(), func(t *testing.T) {
			ddl, err := golden.Schema("testdata", "rollup", d.Name())
			if err != nil {
				t.Fatal(err)
			}
			facts, err := golden.Tables("testdata", d.Name(), ddl)
			if err != nil {
				t.Fatal(err)
			}
			tables, err := golden.NewCatalog(d, facts, rollUpConfigText)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, table := range tables.Counters() {
				for _, part := range []dialect.RollUpPart{{After: true, Limit: 10}, {Between: true, Limit: 10, Rows: 50}} {
					r := d.RollUp(table, part)
					fmt.Fprintf(
						&b,
						"-- %s, after %v, between %v, unordered %v\n%s\n",
						table.Name,
						part.After,
						part.Between,
						r.Unordered,
						strings.Join(r.Begin, ";\n"),
					)
					for _, s := range []struct {
						name  string
						steps []dialect.Step
					}{{"find", []dialect.Step{r.Find}}, {"idle", []dialect.Step{r.Idle}}, {"orphans", []dialect.Step{r.Orphans}}, {"pick", []dialect.Step{r.Pick}}, {"move", r.Move}, {"keep", r.Keep}, {"gather", []dialect.Step{r.Gather}}, {"merge", r.Merge}, {"sweep", r.Sweep}, {"reclaim", r.Reclaim}} {
						for _, step := range s.steps {
							if step.SQL == "" {
								continue
							}
							fmt.Fprintf(&b, "%s %v:\n  %s\n", s.name, step.Args, step.SQL)
						}
					}
					b.WriteString("\n")
				}
			}
			name := filepath.Join("testdata/rollup", d.Name()+".txt")
			if *updateRollUp {
				if err := os.MkdirAll("testdata/rollup", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("the statements differ from %s; go test -run %s -update-rollup writes them:\n%s", name, t.Name(), b.String())
			}
		})
	}
}
