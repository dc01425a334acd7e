package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have, with those of the types that it embeds.
const mostMethods = 40

// wideTypes are the types that have more. A number may only become smaller, and a type that has
// become small enough leaves the list.
var wideTypes = map[string]int{
	"dialect/dialecttest.session":     65,
	"dialect/mysql.Dialect":           119,
	"dialect/mysql.translator":        87,
	"dialect/postgres.Dialect":        86,
	"dialect/postgres.Over":           89,
	"dialect/postgres.described":      41,
	"dialect/postgres.translator":     87,
	"dialect/sqlite.Dialect":          57,
	"dialect/sqlite.Over":             58,
	"integration/random.generator":    145,
	"internal/catalog.Catalog":        65,
	"internal/catalog.Schema":         47,
	"internal/catalog.View":           93,
	"integration/fake.Engine":         59,
	"integration/fake.WatchingEngine": 60,
	"integration/golden.Catalog":      48,
	"internal/session.Conn":           192,
	"internal/session.Shared":         82,
	"mysql.Engine":                    123,
	"postgres.Engine":                 96,
	"sqlite.Engine":                   58,
}

// TestMethods holds types to a number of methods. An embedded struct makes all of its methods
// methods of the type around it: what a type can do, and what a method may call, is then known only to
// whoever knows all of them.
func TestMethods(t *testing.T) {
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports := map[string]string{}
	var own []pkg
	for d := json.NewDecoder(bytes.NewReader(goList(t, "-deps", "-export", "-json=ImportPath,Dir,GoFiles,Export", "./..."))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if within(p.ImportPath, module+"/...") {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	seen := map[string]bool{}
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		config := types.Config{Importer: imports, IgnoreFuncBodies: true}
		checked, err := config.Check(p.ImportPath, fset, files, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range checked.Scope().Names() {
			typ, ok := checked.Scope().Lookup(name).(*types.TypeName)
			if !ok || typ.IsAlias() {
				continue
			}
			id := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") + "." + name
			seen[id] = true
			switch n, known := ownMethods(typ.Type()), wideTypes[id]; {
			case known == 0 && n > mostMethods:
				t.Errorf("%s has %d methods, with those it embeds: more than %d", id, n, mostMethods)
			case known != 0 && n > known:
				t.Errorf("%s has %d methods, with those it embeds: it had %d", id, n, known)
			case known != 0 && n < known:
				t.Errorf("%s has %d methods, no longer %d: write the smaller number, or none up to %d", id, n, known, mostMethods)
			}
		}
	}
	for id := range wideTypes {
		if !seen[id] {
			t.Errorf("%s is listed, and does not exist", id)
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d types were found", len(seen))
	}
}

// ownMethods counts the methods of a type, or of a pointer to it, that this module declares.
func ownMethods(t types.Type) (n int) {
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for m := range types.NewMethodSet(t).Methods() {
		if p := m.Obj().Pkg(); p != nil && within(p.Path(), module+"/...") {
			n++
		}
	}
	return n
}
