package mysql

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file makes the statement of a schema file one that the parser takes.

// unwrapComments makes executable comments (/*!50003 ... */) what a server
// makes of them. The result has the length of the statement.
func unwrapComments(rules *lex.Rules, sql string) string {
	out := []byte(sql)
	gap := func(start, end int) {
		for at := start; ; {
			i := strings.Index(sql[at:end], "/*")
			if i < 0 {
				return
			}
			open := at + i
			n := 2
			if strings.HasPrefix(sql[open:], "/*M!") {
				n = 4
			} else if strings.HasPrefix(sql[open:], "/*!") {
				n = 3
			}
			length := strings.Index(sql[open+2:end], "*/")
			if length < 0 {
				return
			}
			closing := open + 2 + length
			if n > 2 {
				for n < 10 && open+n < closing && sql[open+n] >= '0' && sql[open+n] <= '9' {
					n++
				}
				copy(out[open:], strings.Repeat(" ", n))
				copy(out[closing:], "  ")
			}
			at = closing + 2
		}
	}
	last := 0
	for _, t := range lex.Tokens(rules, sql) {
		gap(last, t.Start)
		last = t.End
	}
	gap(last, len(sql))
	return string(out)
}

// parse parses a statement, whose collations may be unknown to the parser.
func (s *file) parse(sql string) (ast.StmtNode, error) {
	sql, stands := knownCollations(s.lexRules, plainDefaults(s.lexRules, sql))
	node, err := s.d.ParseTree(sql)
	restoreCollations(node, stands)
	return node, err
}

// plainDefaults puts a number in the place of each DEFAULT (expression), which
// the parser does not know: it only matters that there is a default.
func plainDefaults(rules *lex.Rules, sql string) string {
	toks := lex.Tokens(rules, sql)
	out := []byte(sql)
	at := func(i int) string { return sql[toks[i].Start:toks[i].End] }
	for i := 0; i+1 < len(toks); i++ {
		if toks[i].Kind != lex.Word || !strings.EqualFold(at(i), "DEFAULT") || at(i+1) != "(" {
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
