package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// What a schema's statements leave behind is recorded in dir/tables/<dialect>.json, so that
// tests plan without a database and without the command's reader of schema files. The test of
// that reader (package schemafile in the command's module) compares it with the record, and
// writes it with -update.

var records sync.Map // by file: func() (map[string]json.RawMessage, error), the tables of each schema

// Tables returns the tables that a schema leaves behind, as they are recorded in dir.
func Tables(dir, dialect string, schema []string) (tables []*schema.Table, err error) {
	file := filepath.Join(dir, "tables", dialect+".json")
	read, _ := records.LoadOrStore(file, sync.OnceValues(func() (all map[string]json.RawMessage, err error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return all, json.Unmarshal(text, &all)
	}))
	all, err := read.(func() (map[string]json.RawMessage, error))()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	list, ok := all[strings.Join(schema, ";\n")]
	if !ok {
		return nil, fmt.Errorf("%s lacks this schema: go test -C cmd/slotsql ./internal/schemafile -run TestRecorded -update", file)
	}
	d := json.NewDecoder(bytes.NewReader(list))
	d.DisallowUnknownFields()
	if err := d.Decode(&tables); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return tables, nil
}

// Schemas returns the schemas whose tables are recorded in dir: those of its cases, and
// dir/tables/*.sql.
func Schemas(dir, dialect string) ([][]string, error) {
	all, err := Load(dir)
	if err != nil {
		return nil, err
	}
	by := map[string][]string{}
	add := func(schema []string) { by[strings.Join(schema, ";\n")] = schema }
	for _, c := range all {
		if slices.Contains(c.Dialects, dialect) {
			add(c.Schema(dialect))
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "tables", "*.sql"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name, _, _ := strings.Cut(filepath.Base(f), ".")
		schema, err := Schema(dir, name, dialect)
		if err != nil {
			return nil, err
		}
		add(schema)
	}
	var out [][]string
	for _, key := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[key])
	}
	return out, nil
}

// Schema returns the statements of dir/tables/<name>.<dialect>.sql or else <name>.sql.
func Schema(dir, name, dialect string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "tables", name+"."+dialect+".sql"))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(filepath.Join(dir, "tables", name+".sql"))
	}
	return statements(string(text)), err
}
