package docs

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// longest is how many characters a table's cell may have, two lines of them: what
// is longer belongs into a section or a list to which the cell can link.
const longest = 160

// TestTables holds every row of every table to the cells of its header. GitHub
// drops a cell too many, and fills up a row that has too few, without a word.
func TestTables(t *testing.T) {
	for _, p := range pages(t) {
		lines := bytes.Split(p.source, []byte("\n"))
		rows := map[int]bool{} // lines that belong to a table
		each(p, func(table *extast.Table) {
			var want int
			for row := table.FirstChild(); row != nil; row = row.NextSibling() {
				at := lineOf(p, row)
				if at == 0 {
					t.Errorf("%s: a row of a table without any text", p.name)
					continue
				}
				rows[at] = true
				line := string(lines[at-1])
				if _, ok := row.(*extast.TableHeader); ok {
					rows[at+1] = true
					want = len(cells(line))
				}
				holdRow(t, p.name, at, line, want)
			}
		})
		prose(p, lines, func(at int, line string) {
			if strings.HasPrefix(line, "|") && !rows[at] {
				t.Errorf("%s:%d: a row outside of a table: %.60s", p.name, at, line)
			}
		})
	}
}

func holdRow(t *testing.T, name string, at int, line string, want int) {
	t.Helper()
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") {
		t.Errorf("%s:%d: a row begins and ends with a bar: %.60s", name, at, line)
	}
	found := cells(line)
	if len(found) != want {
		t.Errorf("%s:%d: %d cells under a header of %d (write \\| for a bar inside a cell): %.60s", name, at, len(found), want, line)
	}
	for _, c := range found {
		if n := utf8.RuneCountInString(strings.TrimSpace(c)); n > longest {
			t.Errorf("%s:%d: a cell of %d characters, more than %d: %.60s", name, at, n, longest, c)
		}
	}
}

// cells cuts a row at its bars. As on GitHub a backslash keeps a bar inside a
// cell, and backquotes do not.
func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var found []string
	from := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			found = append(found, line[from:i])
			from = i + 1
		}
	}
	return append(found, line[from:])
}

// prose calls visit for each line of the page that is not part of a code block.
func prose(p *page, lines [][]byte, visit func(at int, line string)) {
	code := map[int]bool{}
	mark := func(n ast.Node) {
		for i := range n.Lines().Len() {
			code[1+bytes.Count(p.source[:n.Lines().At(i).Start], []byte("\n"))] = true
		}
	}
	each(p, func(b *ast.CodeBlock) { mark(b) })
	each(p, func(b *ast.FencedCodeBlock) { mark(b) })
	for i, line := range lines {
		if !code[i+1] {
			visit(i+1, string(line))
		}
	}
}
