package mysql

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/slotsql/slotsql/rewrite"
)

// This file makes the statement of a schema file one that the parser takes.

// unwrapComments makes executable comments (/*!50003 ... */) what a server
// makes of them. The result has the length of the statement.
func unwrapComments(text string) string {
	out := []byte(text)
	gap := func(start, end int) {
		for at := start; ; {
			i := strings.Index(text[at:end], "/*")
			if i < 0 {
				return
			}
			open := at + i
			n := 2
			if strings.HasPrefix(text[open:], "/*M!") {
				n = 4
			} else if strings.HasPrefix(text[open:], "/*!") {
				n = 3
			}
			length := strings.Index(text[open+2:end], "*/")
			if length < 0 {
				return
			}
			closing := open + 2 + length
			if n > 2 {
				for n < 10 && open+n < closing && text[open+n] >= '0' && text[open+n] <= '9' {
					n++
				}
				copy(out[open:], strings.Repeat(" ", n))
				copy(out[closing:], "  ")
			}
			at = closing + 2
		}
	}
	last := 0
	for _, t := range rewrite.Tokens(&lexis, text) {
		gap(last, t.Start)
		last = t.End
	}
	gap(last, len(text))
	return string(out)
}

// parseSchema runs the parser within the bounds of Parse.
func parseSchema(text string) (node ast.StmtNode, err error) {
	if len(text) > maxText {
		return nil, ErrTooLarge
	}
	toks, err := New().lex(text)
	if err != nil {
		return nil, err
	}
	if err := bounded(text, toks); err != nil {
		return nil, err
	}
	text = plainDefaults(text, toks)
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, fmt.Errorf("parser failed: %v", r)
		}
	}()
	p := parsers.Get().(*parser.Parser)
	text, stands := knownCollations(text)
	nodes, _, err := p.ParseSQL(text)
	if err == nil && len(nodes) != 1 {
		err = fmt.Errorf("want one statement, got %d", len(nodes))
	}
	if err == nil {
		node = nodes[0]
	}
	parsers.Put(p)
	restoreCollations(node, stands)
	return node, err
}

// plainDefaults puts a number in the place of each DEFAULT (expression), which
// the parser does not know: it only matters that there is a default.
func plainDefaults(text string, toks []rewrite.Token) string {
	out := []byte(text)
	at := func(i int) string { return text[toks[i].Start:toks[i].End] }
	for i := 0; i+1 < len(toks); i++ {
		if toks[i].Kind != rewrite.Word || !strings.EqualFold(at(i), "DEFAULT") || at(i+1) != "(" {
			continue
		}
		depth, end := 1, i+2
		for ; end < len(toks) && depth > 0; end++ {
			switch at(end) {
			case "(":
				depth++
			case ")":
				depth--
			}
		}
		start, value := toks[i+1].Start, "0"
		if end == i+4 && strings.EqualFold(at(i+2), "NULL") {
			value = "NULL"
		}
		copy(out[start:toks[end-1].End], value+strings.Repeat(" ", toks[end-1].End-start))
		i = end - 1
	}
	return string(out)
}
