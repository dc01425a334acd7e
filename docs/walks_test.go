package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	md "github.com/yuin/goldmark/ast"
)

// The page with the walks of an increment, a read and a drain, and how many files a
// reader may have to open to follow each way that an increment can take.
const (
	walksPage = "docs/contributing/architecture.md"
	mostHops  = 8
)

// named is a method or function as the page names it.
var named = regexp.MustCompile(`^(?:(\w+)\.)?(\w+)$`)

// TestWalks looks for each function that the walks name in the file that the link
// before it leads to.
func TestWalks(t *testing.T) {
	p := pages(t)[walksPage]
	functions := 0
	file := ""
	each(p, func(n md.Node) {
		switch n := n.(type) {
		case *md.Heading:
			file = ""
		case *md.Link:
			if to := string(n.Destination); strings.HasSuffix(to, ".go") {
				file = path.Join(path.Dir(p.name), to)
			}
		case *md.CodeSpan:
			m := named.FindStringSubmatch(string(n.Text(p.source))) //nolint:staticcheck // of a code span, that is its source
			if file == "" || m == nil || m[1] == "" {
				return
			}
			if functions++; !declares(t, file, m[1], m[2]) {
				t.Errorf("%s:%d: %s has no %s.%s", p.name, lineOf(p, n), file, m[1], m[2])
			}
		}
	})
	if functions < 15 {
		t.Errorf("%s names only %d functions", p.name, functions)
	}
}

// declares reports whether a Go file declares a method of a type.
func declares(t *testing.T, file, receiver, name string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Error(err)
		return false
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != name {
			continue
		}
		of := fn.Recv.List[0].Type
		if p, ok := of.(*ast.StarExpr); ok {
			of = p.X
		}
		if id, ok := of.(*ast.Ident); ok && id.Name == receiver {
			return true
		}
	}
	return false
}

// TestIncrementHops counts the files of an increment's walk: the list that all
// increments have in common, with each of the lists that continue it.
func TestIncrementHops(t *testing.T) {
	p := pages(t)[walksPage]
	section := ""
	var common map[string]bool
	ways := 0
	each(p, func(n md.Node) {
		switch n := n.(type) {
		case *md.Heading:
			section = headingText(p, n)
		case *md.List:
			if section != "An increment" {
				return
			}
			files := map[string]bool{}
			_ = md.Walk(n, func(n md.Node, entering bool) (md.WalkStatus, error) {
				if l, ok := n.(*md.Link); ok && entering && strings.HasSuffix(string(l.Destination), ".go") {
					files[string(l.Destination)] = true
				}
				return md.WalkContinue, nil
			})
			if common == nil {
				common = files
				return
			}
			for f := range common {
				files[f] = true
			}
			if ways++; len(files) > mostHops {
				t.Errorf("%s:%d: way %d of an increment passes through %d files, more than %d", p.name, lineOf(p, n), ways, len(files), mostHops)
			}
		}
	})
	if ways != 2 {
		t.Errorf("%s continues an increment's walk in %d ways, want 2: of a cold row and of a hot one", p.name, ways)
	}
}
