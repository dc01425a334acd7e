package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// The parser knows no SELECT ... INTO @a and no INTO DUMPFILE, and INTO OUTFILE
// in one place only. The clause names no column and no table, so it is blanked
// out: all offsets stay the original SQL's.

// parseInto reads a query with an INTO clause; nil when there is none.
func (d *Dialect) parseInto(sql string, toks []lex.Token) (*ast.Statement, error) {
	first, last := intoClause(sql, toks)
	if last == 0 {
		return nil, nil
	}
	from, to := toks[first].Start, toks[last-1].End
	blanked := sql[:from] + strings.Repeat(" ", to-from) + sql[to:]
	rest, err := d.lex(blanked)
	if err != nil {
		return nil, err
	}
	st, err := d.parseTokens(blanked, rest)
	if err != nil || st.Select == nil || st.Kind != ast.KindSelect {
		return nil, err
	}
	st.Select.Into = true
	return st, nil
}

// intoClause finds the tokens of the INTO clause of a query; last is 0 when
// there is none.
func intoClause(sql string, toks []lex.Token) (first, last int) {
	if len(toks) == 0 || !word(sql, toks, 0, "SELECT", "WITH") {
		return 0, 0
	}
	depth := 0
	for i, t := range toks {
		switch {
		case t.Kind == lex.Operator && sql[t.Start] == '(':
			depth++
		case t.Kind == lex.Operator && sql[t.Start] == ')':
			depth--
		case depth == 0 && i > 0 && word(sql, toks, i, "INTO") && !is(sql, toks, i-1, "."):
			return i, intoEnd(sql, toks, i+1)
		}
	}
	return 0, 0
}

// intoEnd finds the end of a list of variables, or of a file with its options,
// which has to stand at the end of the query.
func intoEnd(sql string, toks []lex.Token, i int) int {
	if word(sql, toks, i, "OUTFILE", "DUMPFILE") {
		for j := i; j < len(toks); j++ {
			if word(sql, toks, j, "FROM", "FOR", "LOCK", "WHERE", "LIMIT", "UNION") {
				return 0
			}
		}
		return len(toks)
	}
	for ; i < len(toks) && toks[i].Kind == lex.Variable; i += 2 {
		if !is(sql, toks, i+1, ",") {
			return i + 1
		}
	}
	return 0
}

func word(sql string, toks []lex.Token, i int, words ...string) bool {
	if i >= len(toks) || toks[i].Kind != lex.Word {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(sql[toks[i].Start:toks[i].End], w) {
			return true
		}
	}
	return false
}

func is(sql string, toks []lex.Token, i int, op string) bool {
	return i < len(toks) && toks[i].Kind == lex.Operator && sql[toks[i].Start:toks[i].End] == op
}
