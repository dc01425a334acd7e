package schemafile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile"
	"github.com/slotsql/slotsql/integration/golden"
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
				want, err := record(schemas, read)
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

// record is what dir/tables/<dialect>.json has to be: the schemas with their tables, a line each.
func record(schemas [][]string, tables func(schema string) ([]*schema.Table, error)) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	line := func(v any, end string) error {
		err := e.Encode(v)
		b.Truncate(b.Len() - 1)
		b.WriteString(end)
		return err
	}
	b.WriteString("{\n")
	for i, s := range schemas {
		text := strings.Join(s, ";\n")
		list, err := tables(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		err = line(text, ": [\n")
		for j, t := range list {
			err = errors.Join(err, line(facts(reflect.ValueOf(t).Elem()), separator(j, len(list))))
		}
		if err != nil {
			return nil, err
		}
		b.WriteString("]" + separator(i, len(schemas)))
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

func separator(i, n int) string {
	if i+1 < n {
		return ",\n"
	}
	return "\n"
}

// facts leaves out what is zero.
func facts(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if v.Field(i).IsZero() {
				continue
			}
			if value := facts(v.Field(i)); f.Anonymous {
				maps.Copy(out, value.(map[string]any))
			} else {
				out[f.Name] = value
			}
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = facts(v.Index(i))
		}
		return out
	}
	return v.Interface()
}
