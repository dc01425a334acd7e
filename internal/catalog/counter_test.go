package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneCounter: counter.go alone makes a schema.Counter, so that the golden cases
// and slotsql init plan with the facts that a program plans with. A test of a
// dialect's statements may make one of its own, and so may dialecttest.
func TestOneCounter(t *testing.T) {
	root := filepath.Join("..", "..")
	found := false
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "dialecttest" {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || !names(lit.Type, "schema", "Counter") && !(f.Name.Name == "schema" && names(lit.Type, "", "Counter")) {
				return true
			}
			if here := path == filepath.Join(root, "internal", "catalog", "counter.go"); here {
				found = true
			} else {
				t.Errorf("%s: a schema.Counter is made outside internal/catalog/counter.go", fset.Position(lit.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Error("counter.go makes none")
	}
}

// names reports whether a type is written as pkg.name, or as name where pkg is "".
func names(e ast.Expr, pkg, name string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return pkg == "" && e.Name == name
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == pkg && e.Sel.Name == name
	}
	return false
}
