package house

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/api.txt")

// public are the packages whose API is promised, those that applications import, and of dialects what one needs to wrap
// another driver (docs/drivers.md).
var public = []struct {
	path  string
	names []string // nil: all, with methods
}{
	{path: ""}, {path: "/mysql"}, {path: "/postgres"}, {path: "/sqlite"}, {path: "/status"},
	{"/dialect/postgres", []string{"Fault", "New", "Over"}},
	{"/dialect/sqlite", []string{"InTurn", "New", "OfOne", "Over"}},
}

// TestAPI: the exported API of the public packages is that of testdata/api.txt. Go's rules of compatibility say which
// change of it needs a new minor version before 1.0.0, or a new major one.
func TestAPI(t *testing.T) {
	const file = "testdata/api.txt"
	got := strings.Join(api(t), "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("gone or changed: %s", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new: %s", line)
		}
	}
	if t.Failed() {
		t.Log("if this is meant, say so in CHANGELOG.md, and run: go test ./integration/house -run TestAPI -update")
	}
}

// api returns a line for each exported object, field and method.
func api(t *testing.T) (lines []string) {
	args := []string{"list", "-deps", "-export", "-json=ImportPath,Export"}
	for _, p := range public {
		args = append(args, module+p.path)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := list.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range public {
		pkg, err := from.Import(module + p.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() && (p.names == nil || slices.Contains(p.names, name)) {
				lines = append(lines, described(o, p.names == nil)...)
			}
		}
	}
	return lines
}

// described is one object with its fields and methods, also of a type that it is an alias of.
func described(o types.Object, methods bool) []string {
	short := func(p *types.Package) string { return p.Name() }
	name := strings.TrimPrefix(o.Pkg().Path(), "github.com/slotsql/") + "." + o.Name()
	named, ok := types.Unalias(o.Type()).(*types.Named)
	if _, isType := o.(*types.TypeName); !isType || !ok {
		text := types.ObjectString(o, short)
		if c, ok := o.(*types.Const); ok {
			text += " = " + c.Val().String()
		}
		return []string{name + ": " + text}
	}
	lines := []string{name + ": type struct"}
	switch u := named.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() {
				lines = append(lines, name+": "+types.ObjectString(f, short))
			}
		}
	default:
		lines[0] = name + ": type " + types.TypeString(u, short)
	}
	if types.IsInterface(named) || !methods {
		return lines
	}
	set := types.NewMethodSet(types.NewPointer(named))
	for i := range set.Len() {
		if m := set.At(i).Obj(); m.Exported() {
			lines = append(lines, name+": "+types.ObjectString(m, short))
		}
	}
	return lines
}
