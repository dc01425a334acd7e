package schemafile_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile"
	"github.com/slotsql/slotsql/internal/golden"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var update = flag.Bool("update", false, "record the tables of schemas")

// The tables with which tests of the library plan are those that this package reads from their
// schemas; -update records them.
func TestRecorded(t *testing.T) {
	const root = "../../../.."
	for _, dir := range []string{"rewrite/testdata", "internal/catalog/testdata"} {
		for _, en := range explainedEngines {
			t.Run(dir+"/"+en.name, func(t *testing.T) {
				schemas, err := golden.Schemas(filepath.Join(root, dir), en.name)
				if err != nil || len(schemas) == 0 {
					t.Fatalf("%d schemas, %v", len(schemas), err)
				}
				tables := map[string][]*schema.Table{}
				read := func(sql string) (list []*schema.Table, err error) {
					list, err = schemafile.Tables(en.dialect, sql)
					tables[sql] = list
					return list, err
				}
				want, err := golden.Record(schemas, read)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(root, dir, "tables", en.name+".json")
				if *update {
					if err := os.WriteFile(file, want, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s is not what the schemas say (%v): go test -C cmd/slotsql ./internal/schemafile -run TestRecorded -update writes it", file, err)
				}
				for _, s := range schemas {
					want := tables[strings.Join(s, ";\n")]
					if got, err := golden.Tables(filepath.Join(root, dir), en.name, s); err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%v, %v: not what is recorded of\n%s", got, err, s)
					}
				}
			})
		}
	}
}
