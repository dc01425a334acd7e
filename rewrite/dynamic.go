package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// Dynamic is a statement whose own statement is the value of an expression:
// MySQL's PREPARE name FROM @variable, MariaDB's EXECUTE IMMEDIATE expression.
// What it names is known when the expression has been evaluated.
type Dynamic struct {
	before, after string
	Expr          string // the expression as the statement has it
	// Fixed: evaluating the expression twice gives the same and changes nothing.
	Fixed bool
}

// DynamicOf reads SQL as such a statement; nil when it is none, or when the
// statement stands in it as a literal.
func DynamicOf(d Dialect, sql string) *Dynamic {
	if !d.Traits().DynamicSQL || !lex.ContainsFold(sql, "prepare") && !lex.ContainsFold(sql, "immediate") || len(sql) > lex.MaxTxSQL {
		return nil
	}
	src := newSource(d.LexRules(), sql)
	if src.bad || src.exec {
		return nil
	}
	first := 0
	switch {
	case src.is(0, "PREPARE") && src.is(2, "FROM"):
		first = 3
	case src.is(0, "EXECUTE") && src.is(1, "IMMEDIATE"):
		first = 2
	default:
		return nil
	}
	last := first
	for depth := 0; last < len(src.tokens); last++ {
		switch {
		case src.is(last, "("):
			depth++
		case src.is(last, ")"):
			depth--
		}
		if src.is(last, ";") || depth == 0 && src.is(last, "USING") {
			break
		}
	}
	if last == first {
		return nil
	}
	tokens := src.tokens[first:last]
	from, to := tokens[0].Start, tokens[len(tokens)-1].End
	dy := &Dynamic{before: sql[:from], after: sql[to:], Expr: sql[from:to], Fixed: true}
	if len(tokens) == 1 && tokens[0].Kind == lex.String && strings.IndexByte(dy.Expr, '\\') < 0 {
		return nil
	}
	for i := range tokens {
		switch t := tokens[i]; t.Kind {
		case lex.String, lex.Number, lex.Variable:
		case lex.Operator:
			dy.Fixed = dy.Fixed && (sql[t.Start:t.End] == "(" || sql[t.Start:t.End] == ")" || sql[t.Start:t.End] == ",")
		default:
			dy.Fixed = dy.Fixed && (src.is(first+i, "CONCAT") || src.is(first+i, "CONCAT_WS") || src.is(first+i, "REPLACE"))
		}
	}
	return dy
}

// With returns the SQL with the statement that the expression stands for written
// out.
func (dy *Dynamic) With(d Dialect, statement string) string {
	s := strings.ReplaceAll(statement, "'", "''")
	if d.LexRules().Backslash {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return dy.before + "'" + s + "'" + dy.after
}
