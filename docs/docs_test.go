// Package docs tests what the documentation of this module looks like when it
// is rendered. It has no other code: no importer of slotsql builds the
// Markdown parser.
package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// root is the directory of the module, seen from this package.
const root = ".."

// page is one file of the documentation.
type page struct {
	name    string // its path from the module's root, with slashes
	source  []byte
	tree    ast.Node
	anchors map[string]bool
}

// pages reads README, CHANGELOG, CONTRIBUTING, all of docs and the examples' pages.
func pages(t *testing.T) map[string]*page {
	t.Helper()
	files := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			files = append(files, filepath.ToSlash(filepath.Join("docs", path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"examples/README.md", "examples/*/README.md", "examples/incidents/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, f := range found {
			name, _ := filepath.Rel(root, f)
			files = append(files, filepath.ToSlash(name))
		}
	}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	all := map[string]*page{}
	for _, name := range files {
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		p := &page{name: name, source: source, tree: parser.Parse(text.NewReader(source))}
		p.anchors = anchors(p)
		all[name] = p
	}
	return all
}

// each calls visit for every node of the page of type N.
func each[N ast.Node](p *page, visit func(N)) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n, ok := n.(N); ok && entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

// lineOf returns the number of the line that holds the first byte of a node's
// text, or 0 for a node without any.
func lineOf(p *page, n ast.Node) int {
	at := -1
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			at = n.Segment.Start
		case *extast.TableCell:
			if n.Lines().Len() > 0 {
				at = n.Lines().At(0).Start
			}
		}
		if at >= 0 {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	if at < 0 {
		return 0
	}
	return 1 + strings.Count(string(p.source[:at]), "\n")
}
