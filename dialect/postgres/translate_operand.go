package postgres

import (
	"github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/slotsql/slotsql/rewrite"
)

// operands translates everything below n that is an expression, whatever n
// is. It is how nodes without a translation of their own keep their column
// references and subqueries reachable.
func (t *translator) operands(n *ast.Node) []*rewrite.Expr {
	var out []*rewrite.Expr
	t.collect(inner(n), &out)
	return out
}

// inner is the message that a Node holds.
func inner(n *ast.Node) protoreflect.Message {
	m := n.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if fd == nil {
		return m
	}
	return m.Get(fd).Message()
}

// collect appends the translations of the expressions below m.
func (t *translator) collect(m protoreflect.Message, out *[]*rewrite.Expr) {
	fields := m.Descriptor().Fields()
	for i := 0; i < fields.Len(); i++ {
		fd := fields.Get(i)
		if fd.Message() == nil || !m.Has(fd) {
			continue
		}
		if fd.IsList() {
			l := m.Get(fd).List()
			for j := 0; j < l.Len(); j++ {
				t.collectOne(l.Get(j).Message(), out)
			}
			continue
		}
		t.collectOne(m.Get(fd).Message(), out)
	}
}

func (t *translator) collectOne(m protoreflect.Message, out *[]*rewrite.Expr) {
	switch v := m.Interface().(type) {
	case *ast.TypeName:
		return // modifiers such as geometry(point) are parsed as columns
	case *ast.SelectStmt:
		t.giveUp("a query inside a constructor")
		return
	case *ast.ResTarget: // of xmlforest and xmlattributes
		e := t.loose(v.Val)
		if ref := v.Val.GetColumnRef(); ref != nil && v.Name == "" && e != nil {
			t.named(e, ref)
		}
		*out = append(*out, e)
		return
	case *ast.Node:
		if isExpr(v) {
			*out = append(*out, t.loose(v))
			return
		}
		if v.Node == nil {
			return
		}
		t.collectOne(inner(v), out)
		return
	}
	t.collect(m, out)
}

// named notes the name that an argument of a form like xmlforest has by being a
// column.
func (t *translator) named(e *rewrite.Expr, ref *ast.ColumnRef) {
	last := ref.Fields[len(ref.Fields)-1].GetString_()
	if last == nil {
		return
	}
	r, ok := t.extent(&ast.Node{Node: &ast.Node_ColumnRef{ColumnRef: ref}})
	if !ok {
		t.giveUp("an argument that is named by being a column")
		return
	}
	for r.lo > 1 && t.is(r.lo-1, '(') && r.hi < len(t.tok) && t.is(r.hi, ')') && (t.is(r.lo-2, '(') || t.is(r.lo-2, ',')) {
		r = rng{r.lo - 1, r.hi + 1} // parentheses of its own
	}
	e.Label = &rewrite.Label{Name: last.Sval, At: t.span(r).End}
}

// isExpr reports whether a node is worth an Expr of its own; the others only hold
// expressions (lists, sort keys, window definitions, names).
func isExpr(n *ast.Node) bool {
	switch n.Node.(type) {
	case *ast.Node_ColumnRef, *ast.Node_ParamRef, *ast.Node_AConst, *ast.Node_AExpr, *ast.Node_BoolExpr,
		*ast.Node_SubLink, *ast.Node_TypeCast, *ast.Node_FuncCall, *ast.Node_CoalesceExpr, *ast.Node_MinMaxExpr,
		*ast.Node_CaseExpr, *ast.Node_RowExpr, *ast.Node_AIndirection, *ast.Node_AArrayExpr, *ast.Node_NullTest,
		*ast.Node_BooleanTest, *ast.Node_CollateClause, *ast.Node_GroupingFunc, *ast.Node_SetToDefault,
		*ast.Node_JsonAggConstructor, *ast.Node_JsonObjectAgg, *ast.Node_JsonArrayAgg:
		return true
	}
	return false
}

// list translates nodes one by one; exactly when their runs are known.
func (t *translator) list(nodes []*ast.Node, runs []rng) []*rewrite.Expr {
	out := make([]*rewrite.Expr, 0, len(nodes))
	for i, n := range nodes {
		var e *rewrite.Expr
		if len(runs) == len(nodes) {
			e = t.expr(n, runs[i])
		} else {
			e = t.loose(n)
		}
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}
