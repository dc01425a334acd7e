package postgres

import (
	tree "github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// operands translates everything below n that is an expression, whatever n
// is. It is how nodes without a translation of their own keep their column
// references and subqueries reachable.
func (t *translator) operands(n *tree.Node) []*ast.Expr {
	var out []*ast.Expr
	t.collect(inner(n), &out)
	return out
}

// inner is the message that a Node holds.
func inner(n *tree.Node) protoreflect.Message {
	m := n.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if fd == nil {
		return m
	}
	return m.Get(fd).Message()
}

// collect appends the translations of the expressions below m.
func (t *translator) collect(m protoreflect.Message, out *[]*ast.Expr) {
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

func (t *translator) collectOne(m protoreflect.Message, out *[]*ast.Expr) {
	switch v := m.Interface().(type) {
	case *tree.TypeName:
		return // modifiers such as geometry(point) are parsed as columns
	case *tree.SelectStmt:
		t.giveUp("a query inside a constructor")
		return
	case *tree.ResTarget: // of xmlforest and xmlattributes
		e := t.loose(v.Val)
		if ref := v.Val.GetColumnRef(); ref != nil && v.Name == "" && e != nil {
			t.named(e, ref)
		}
		*out = append(*out, e)
		return
	case *tree.Node:
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
func (t *translator) named(e *ast.Expr, ref *tree.ColumnRef) {
	last := ref.Fields[len(ref.Fields)-1].GetString_()
	if last == nil {
		return
	}
	r, ok := t.extent(&tree.Node{Node: &tree.Node_ColumnRef{ColumnRef: ref}})
	if !ok {
		t.giveUp("an argument that is named by being a column")
		return
	}
	for r.lo > 1 && t.is(r.lo-1, '(') && r.hi < len(t.tok) && t.is(r.hi, ')') && (t.is(r.lo-2, '(') || t.is(r.lo-2, ',')) {
		r = rng{r.lo - 1, r.hi + 1} // parentheses of its own
	}
	e.Label = &ast.Label{Name: last.Sval, At: t.span(r).End}
}

// isExpr reports whether a node is worth an Expr of its own; the others only hold
// expressions (lists, sort keys, window definitions, names).
func isExpr(n *tree.Node) bool {
	switch n.Node.(type) {
	case *tree.Node_ColumnRef, *tree.Node_ParamRef, *tree.Node_AConst, *tree.Node_AExpr, *tree.Node_BoolExpr,
		*tree.Node_SubLink, *tree.Node_TypeCast, *tree.Node_FuncCall, *tree.Node_CoalesceExpr, *tree.Node_MinMaxExpr,
		*tree.Node_CaseExpr, *tree.Node_RowExpr, *tree.Node_AIndirection, *tree.Node_AArrayExpr, *tree.Node_NullTest,
		*tree.Node_BooleanTest, *tree.Node_CollateClause, *tree.Node_GroupingFunc, *tree.Node_SetToDefault,
		*tree.Node_JsonAggConstructor, *tree.Node_JsonObjectAgg, *tree.Node_JsonArrayAgg:
		return true
	}
	return false
}

// list translates nodes one by one; exactly when their runs are known.
func (t *translator) list(nodes []*tree.Node, runs []rng) []*ast.Expr {
	out := make([]*ast.Expr, 0, len(nodes))
	for i, n := range nodes {
		var e *ast.Expr
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
