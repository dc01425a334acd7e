package dialect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackageComment looks for each exported interface in the package comment.
func TestPackageComment(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var comment string
	var interfaces []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		comment += f.Doc.Text()
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() {
				if _, ok := s.Type.(*ast.InterfaceType); ok {
					interfaces = append(interfaces, s.Name.Name)
				}
			}
			return true
		})
	}
	if len(interfaces) == 0 {
		t.Fatal("no interfaces found")
	}
	for _, name := range interfaces {
		if name != "Session" && !regexp.MustCompile(`\b`+name+`\b`).MatchString(comment) {
			t.Errorf("the package comment does not mention %s", name)
		}
	}
}
