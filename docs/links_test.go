package docs

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// TestLinks follows every link inside the documentation: its file is there, and
// so is the heading that it names.
func TestLinks(t *testing.T) {
	all := pages(t)
	for _, p := range all {
		each(p, func(l *ast.Link) { follow(t, all, p, l, string(l.Destination)) })
		each(p, func(i *ast.Image) { follow(t, all, p, i, string(i.Destination)) })
	}
}

func follow(t *testing.T, all map[string]*page, p *page, n ast.Node, destination string) {
	t.Helper()
	u, err := url.Parse(destination)
	if err != nil {
		t.Errorf("%s:%d: link to %q: %v", p.name, lineOf(p, n), destination, err)
		return
	}
	if u.Scheme != "" || u.Host != "" {
		return
	}
	name := p.name
	if u.Path != "" {
		name = path.Join(path.Dir(p.name), u.Path)
	}
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		t.Errorf("%s:%d: link to %q: there is no such file", p.name, lineOf(p, n), destination)
		return
	}
	if u.Fragment == "" {
		return
	}
	if target := all[name]; target == nil || !target.anchors[u.Fragment] {
		t.Errorf("%s:%d: link to %q: %s has no such heading", p.name, lineOf(p, n), destination, name)
	}
}

// anchors returns the fragments of a page's headings, named as GitHub names
// them: letters in lower case, digits, underscores and hyphens stay, a space
// becomes a hyphen, and the second heading of a name gets -1.
func anchors(p *page) map[string]bool {
	found := map[string]bool{}
	each(p, func(h *ast.Heading) {
		var b strings.Builder
		for _, r := range strings.ToLower(headingText(p, h)) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		name := b.String()
		for n := 1; found[name]; n++ {
			name = b.String() + "-" + strconv.Itoa(n)
		}
		found[name] = true
	})
	return found
}

func headingText(p *page, n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
