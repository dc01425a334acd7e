// Package house holds the rules of the repository itself: imports, modules, names of dialects, where
// tests are, and the sizes of files, types and programs.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mostLines  = 400
	mostFields = 16
)

// wideStructs are those with more fields, which would not be easier to read in parts.
var wideStructs = map[string]string{
	"internal/config.TableConfig":     "one field for each key of the YAML file",
	"..TableConfig":                   "one field for each key of the file",
	"internal/explain.Explanation":    "what `slotsql explain --json` prints, field by field",
	"internal/session.StatementStats": "one count for each way in which statements run, as they are exported",
	"rewrite/ast.Statement":           "a syntax tree's node: each kind of statement uses some of its fields",
	"rewrite/ast.Select":              "a syntax tree's node",
	"rewrite/lex.Rules":               "the lexical rules of an engine, each by itself",
	"rewrite.Increment":               "the statements that a plan may send, and what each demands",
	"dialect.RollUp":                  "the statements of a roll-up, in the order that they are sent",
	"integration/random.generator":    "the state of a test's generator: settings, tables, what has been written",
	"integration/history.Op":          "an operation of a history: what was sent, and what came back",
}

// TestSizes holds files to a length, and structs to a number of fields, that a newcomer
// can take in at once.
func TestSizes(t *testing.T) {
	const root = "../.."
	found := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && p != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, root+string(filepath.Separator)))
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, source, parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		found++
		if n := strings.Count(string(source), "\n"); n > mostLines {
			t.Errorf("%s has %d lines, more than %d: split it by job", name, n, mostLines)
		}
		if strings.HasSuffix(p, "_test.go") {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			id := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name))+"."+spec.Name.Name, "./")
			if fields := st.Fields.NumFields(); fields > mostFields && wideStructs[id] == "" {
				t.Errorf("%s has %d fields, more than %d: group what belongs together", id, fields, mostFields)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 500 {
		t.Errorf("only %d files were found", found)
	}
}
