package dialecttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// Sketch writes what Parse makes of a statement as a line: the source of spans in
// [], {} and <>, structure in words.
func Sketch(sql string, st *ast.Statement) string {
	k := sketcher{sql: sql}
	k.statement(st)
	return strings.Join(k.out, " ")
}

type sketcher struct {
	sql string
	out []string
}

func (k *sketcher) add(parts ...string) {
	for _, p := range parts {
		if p != "" {
			k.out = append(k.out, p)
		}
	}
}

func (k *sketcher) cut(s ast.Span) string { return k.sql[s.Start:s.End] }

func (k *sketcher) expr(e *ast.Expr) string { return "{" + k.cut(e.Span) + "}" }

func (k *sketcher) list(word string, list []*ast.Expr) {
	if len(list) > 0 {
		k.add(word)
	}
	for _, e := range list {
		k.add(k.expr(e))
	}
}

// where writes the conjuncts; a subquery in IN is shown as a query.
func (k *sketcher) where(e *ast.Expr) {
	if e == nil {
		return
	}
	k.add("where")
	var conjuncts func(*ast.Expr)
	conjuncts = func(e *ast.Expr) {
		switch {
		case e.Kind == ast.Binary && e.Op == "AND":
			conjuncts(e.Args[0])
			conjuncts(e.Args[1])
		case e.Kind == ast.In && e.Args[1].Kind == ast.Subquery:
			k.add("{" + k.cut(e.Args[0].Span) + " IN (" + k.nested(e.Args[1].Query) + ")}")
		default:
			k.add(k.expr(e))
		}
	}
	conjuncts(e)
}

func (k *sketcher) items(list []ast.Item) {
	for _, it := range list {
		k.add("<" + k.cut(it.Span) + ">")
	}
}

func dotted(list [][]ast.Ident) []string {
	var out []string
	for _, n := range list {
		out = append(out, words(n, "."))
	}
	return out
}

func words(list []ast.Ident, sep string) string {
	var out []string
	for _, i := range list {
		out = append(out, i.Name)
	}
	return strings.Join(out, sep)
}

func (k *sketcher) nested(q *ast.Select) string {
	in := sketcher{sql: k.sql}
	in.query(q)
	return strings.Join(in.out, " ")
}

func (k *sketcher) with(list []*ast.CTE) {
	for i, c := range list {
		if i == 0 {
			k.add("with")
		}
		head := c.Name.Name
		if len(c.Columns) > 0 {
			head += "(" + words(c.Columns, ",") + ")"
		}
		in := sketcher{sql: k.sql}
		if c.Select != nil {
			in.query(c.Select)
		} else {
			in.statement(c.Statement)
		}
		k.add(head, "("+strings.Join(in.out, " ")+")")
	}
}

func (k *sketcher) source(s *ast.Source) string {
	alias := ""
	if s.Alias != nil {
		alias = " " + s.Alias.Name
	}
	switch {
	case s.Left != nil:
		out := "(" + k.source(s.Left)
		if s.LeftOuter {
			out += " left"
		}
		out += " join " + k.source(s.Right)
		if len(s.Using) > 0 {
			out += " using " + words(s.Using, ",")
		}
		if s.On != nil {
			out += " on " + k.expr(s.On)
		}
		return out + ")" + alias
	case s.Select != nil:
		out := "(" + k.nested(s.Select) + ")" + alias
		if s.Lateral {
			out = "lateral " + out
		}
		return out
	case s.Func != nil:
		return s.Func.Op + "(...)" + alias
	}
	return words(s.Name, ".") + alias
}

func (k *sketcher) sources(list []*ast.Source) {
	for i, s := range list {
		if i == 0 {
			k.add("from")
		}
		k.add(k.source(s))
	}
}

func (k *sketcher) query(q *ast.Select) {
	k.with(q.With)
	for _, o := range q.Operands {
		k.add("[" + k.nested(o) + "]")
	}
	switch {
	case q.Values != nil:
		k.add(fmt.Sprint("values ", len(q.Values)))
	case q.Operands == nil:
		k.add("select")
	}
	k.list("on", q.DistinctOn)
	k.items(q.Items)
	k.sources(q.From)
	k.where(q.Where)
	k.list("group by", q.GroupBy)
	if q.Having != nil {
		k.add("having", k.expr(q.Having))
	}
	if len(q.Windows) > 0 {
		k.add(fmt.Sprint("windows ", len(q.Windows)))
	}
	k.list("order by", q.OrderBy)
	k.list("limit", q.Limit)
	if q.Lock {
		k.add("lock")
	}
	if q.Into {
		k.add("into")
	}
}

func (k *sketcher) set(list []ast.Assignment) {
	k.add("set")
	for _, a := range list {
		v := "default"
		if a.Value != nil {
			v = k.expr(a.Value)
		}
		k.add(words(a.Column, ".") + "=" + v)
	}
}

func (k *sketcher) statement(st *ast.Statement) {
	k.with(st.With)
	kind := []string{"other", "select", "insert", "update", "delete", "truncate", "drop",
		"ddl", "explain", "session", "create", "reads"}[st.Kind]
	if st.Kind != ast.KindSelect {
		k.add(kind)
	}
	if st.Modifier {
		k.add("only")
	}
	if st.Target != nil {
		k.add("[" + k.cut(st.Target.Span) + "]")
	}
	if len(st.Columns) > 0 {
		k.add("(" + words(st.Columns, ",") + ")")
	}
	if st.Rows != nil {
		k.add(fmt.Sprint("rows ", len(st.Rows)))
	}
	switch {
	case st.Kind == ast.KindSelect:
		k.query(st.Select)
	case st.Select != nil:
		k.add("(" + k.nested(st.Select) + ")")
	}
	if st.Set != nil {
		k.set(st.Set)
	}
	k.sources(st.From)
	k.where(st.Where)
	if c := st.Conflict; c != nil {
		k.add("conflict")
		if len(c.Columns) > 0 {
			k.add("(" + words(c.Columns, ",") + ")")
		}
		if c.Constraint != nil {
			k.add("on " + c.Constraint.Name)
		}
		k.where(c.Predicate)
		if c.Nothing {
			k.add("nothing")
		} else {
			k.set(c.Set)
		}
		k.where(c.Where)
	}
	if st.Returning != nil {
		k.add("returning")
		k.items(st.Returning)
	}
	tables := dotted(st.Tables)
	slices.Sort(tables)
	k.add(tables...)
}
