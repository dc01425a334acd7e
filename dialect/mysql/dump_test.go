package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// dump writes an expression as kind[text of its span](operands).
func dump(text string, e *rewrite.Expr) string {
	if e == nil {
		return "-"
	}
	kinds := map[rewrite.ExprKind]string{
		rewrite.Opaque: "opaque", rewrite.ColumnRef: "col", rewrite.Star: "star", rewrite.Number: "num", rewrite.String: "str",
		rewrite.Null: "null", rewrite.Param: "param", rewrite.Binary: "bin", rewrite.Unary: "un", rewrite.Paren: "paren",
		rewrite.Call: "call", rewrite.In: "in", rewrite.Subquery: "sub", rewrite.Excluded: "excl",
	}
	s := kinds[e.Kind] + "[" + text[e.Start:e.End] + "]"
	var args []string
	for _, a := range e.Args {
		args = append(args, dump(text, a))
	}
	if e.Query != nil {
		args = append(args, dumpSelect(text, e.Query))
	}
	if len(args) > 0 {
		s += "(" + strings.Join(args, " ") + ")"
	}
	return s
}

func dumpSelect(text string, q *rewrite.Select) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%s}", text[q.Start:q.End])
	for _, o := range q.Operands {
		b.WriteString(" op" + dumpSelect(text, o))
	}
	for _, s := range q.From {
		b.WriteString(" from " + dumpSource(text, s))
	}
	return b.String()
}

func dumpSource(text string, s *rewrite.Source) string {
	switch {
	case s == nil:
		return "-"
	case s.Left != nil:
		return "(" + dumpSource(text, s.Left) + " join " + dumpSource(text, s.Right) + ")"
	case s.Select != nil:
		return "derived"
	}
	return "<" + text[s.Start:s.End] + ">"
}
