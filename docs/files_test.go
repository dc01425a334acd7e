package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

// goFile is a Go file's name in a heading, a paragraph or backquotes, with or
// without its directory.
var goFile = regexp.MustCompile(`[\w./{},*-]*\w\.go\b`)

// TestGoFiles looks for the Go files that the pages for contributors name. A path
// is from the module's root; a bare name may be in any package.
func TestGoFiles(t *testing.T) {
	bare := map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") {
			bare[d.Name()] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.name, "docs/contributing/") && !strings.HasPrefix(p.name, "docs/design/") {
			continue
		}
		each(p, func(n *ast.Text) {
			from := n.Segment.Start
			for from > 0 && p.source[from-1] == '_' || from > 0 && p.source[from-1] >= 'a' && p.source[from-1] <= 'z' {
				from-- // the parser ends a node at an underscore
			}
			for _, name := range goFile.FindAllString(string(p.source[from:n.Segment.Stop]), -1) {
				if !existing(name, bare) {
					t.Errorf("%s:%d: there is no file %s", p.name, lineOf(p, n), name)
				}
			}
		})
	}
}

// existing reports whether a file is there; a path may hold one * or {a,b}.
func existing(name string, bare map[string]bool) bool {
	if !strings.Contains(name, "/") {
		return bare[name]
	}
	if from, to := strings.IndexByte(name, '{'), strings.IndexByte(name, '}'); from >= 0 && to > from {
		for part := range strings.SplitSeq(name[from+1:to], ",") {
			if !existing(name[:from]+part+name[to+1:], bare) {
				return false
			}
		}
		return true
	}
	for _, dir := range []string{".", "internal"} {
		found, err := filepath.Glob(filepath.Join(root, dir, filepath.FromSlash(path.Clean(name))))
		if err == nil && len(found) > 0 {
			_, err = os.Stat(found[0])
			return err == nil
		}
	}
	return false
}
