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

// walk calls f for every expression of a statement.
func walk(st *rewrite.Statement, f func(*rewrite.Expr)) {
	var sel func(*rewrite.Select)
	var expr func(*rewrite.Expr)
	var exprs func([]*rewrite.Expr)
	var source func(*rewrite.Source)
	ctes := func(cs []*rewrite.CTE) {
		for _, c := range cs {
			sel(c.Select)
		}
	}
	expr = func(e *rewrite.Expr) {
		if e == nil {
			return
		}
		f(e)
		exprs(e.Args)
		sel(e.Query)
	}
	exprs = func(es []*rewrite.Expr) {
		for _, e := range es {
			expr(e)
		}
	}
	source = func(s *rewrite.Source) {
		if s == nil {
			return
		}
		sel(s.Select)
		source(s.Left)
		source(s.Right)
		expr(s.On)
		expr(s.Func)
	}
	sel = func(q *rewrite.Select) {
		if q == nil {
			return
		}
		ctes(q.With)
		for _, o := range q.Operands {
			sel(o)
		}
		for _, it := range q.Items {
			expr(it.Expr)
		}
		for _, r := range q.Values {
			exprs(r)
		}
		for _, s := range q.From {
			source(s)
		}
		for _, es := range [][]*rewrite.Expr{{q.Where, q.Having}, q.GroupBy, q.Windows, q.OrderBy, q.Limit} {
			exprs(es)
		}
	}
	ctes(st.With)
	sel(st.Select)
	source(st.Target)
	for _, s := range st.From {
		source(s)
	}
	for _, a := range st.Set {
		expr(a.Value)
	}
	for _, r := range st.Rows {
		exprs(r)
	}
	exprs([]*rewrite.Expr{st.Where})
	exprs(st.OrderBy)
	exprs(st.Limit)
	if st.Conflict != nil {
		for _, a := range st.Conflict.Set {
			expr(a.Value)
		}
	}
}
