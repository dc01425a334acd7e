package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// namedDialects are where a dialect's name is compared outside of dialect/, and why.
var namedDialects = map[string]string{
	"cmd/slotsql/rollup_metrics.go": "a label by the conventions of OpenTelemetry: postgresql",
	"promslotsql/collector.go":      "the same label",
	"otelslotsql/otelslotsql.go":    "the same label",
}

// TestDialectNames: what engines do differently is said by their dialects. Code outside of
// dialect/ compares no dialect's name, and asks a dialect only for interfaces that have a
// name, which the dialects then assert: for another one a method renamed would switch
// something off without a word.
func TestDialectNames(t *testing.T) {
	const root = "../.."
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(p), root+"/")
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{"dialect", "integration", "examples", "tools"}, name) || strings.HasPrefix(d.Name(), ".") && p != root {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		compared := func(list ...ast.Expr) {
			for _, e := range list {
				lit, ok := e.(*ast.BasicLit)
				if !ok || !slices.Contains([]string{`"mysql"`, `"postgres"`, `"sqlite"`}, lit.Value) {
					continue
				}
				if found[name] = true; namedDialects[name] == "" {
					t.Errorf("%s: %s is compared", fset.Position(lit.Pos()), lit.Value)
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared(n.X, n.Y)
				}
			case *ast.CaseClause:
				compared(n.List...)
			case *ast.TypeAssertExpr:
				of, ok := n.X.(*ast.SelectorExpr)
				if _, anonymous := n.Type.(*ast.InterfaceType); anonymous && ok && of.Sel.Name == "Dialect" {
					t.Errorf("%s: a dialect is asked for an interface without a name", fset.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range namedDialects {
		if !found[name] {
			t.Errorf("%s compares no dialect's name any more: take it off the list", name)
		}
	}
}
