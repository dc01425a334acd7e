package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// dump writes an expression as kind[text of its span](operands).
func dump(sql string, e *ast.Expr) string {
	if e == nil {
		return "-"
	}
	kinds := map[ast.ExprKind]string{
		ast.Opaque: "opaque", ast.ColumnRef: "col", ast.Star: "star", ast.Number: "num", ast.String: "str",
		ast.Null: "null", ast.Param: "param", ast.Binary: "bin", ast.Unary: "un", ast.Paren: "paren",
		ast.Call: "call", ast.In: "in", ast.Subquery: "sub", ast.Excluded: "excl",
	}
	s := kinds[e.Kind] + "[" + sql[e.Start:e.End] + "]"
	var args []string
	for _, a := range e.Args {
		args = append(args, dump(sql, a))
	}
	if e.Query != nil {
		args = append(args, dumpSelect(sql, e.Query))
	}
	if len(args) > 0 {
		s += "(" + strings.Join(args, " ") + ")"
	}
	return s
}

func dumpSelect(sql string, q *ast.Select) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%s}", sql[q.Start:q.End])
	for _, o := range q.Operands {
		b.WriteString(" op" + dumpSelect(sql, o))
	}
	for _, s := range q.From {
		b.WriteString(" from " + dumpSource(sql, s))
	}
	return b.String()
}

func dumpSource(sql string, s *ast.Source) string {
	switch {
	case s == nil:
		return "-"
	case s.Left != nil:
		return "(" + dumpSource(sql, s.Left) + " join " + dumpSource(sql, s.Right) + ")"
	case s.Select != nil:
		return "derived"
	}
	return "<" + sql[s.Start:s.End] + ">"
}
