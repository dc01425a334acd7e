package sqlite

import (
	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

func (t *translator) insert(n *tree.InsertStmt) {
	st := t.st
	st.Kind = ast.KindInsert
	st.With = t.with(n.With)
	st.Target = t.table(n.Table, n.Alias)
	st.Columns = idents(n.Columns)
	st.Replace = n.Replace
	t.resolution(n.OrConflict)
	switch rows := valuesOf(n.Select); {
	case n.DefaultValues:
		st.Modifier = true
	case rows != nil:
		for _, row := range rows {
			st.Rows = append(st.Rows, t.exprs(row))
		}
	default:
		st.Select = t.query(n.Select)
	}
	switch len(n.Upserts) {
	case 0:
	case 1:
		st.Conflict = t.conflict(n.Upserts[0])
	default:
		t.opaque("there are several ON CONFLICT clauses")
	}
	st.Returning = t.items(n.Returning)
}

// valuesOf returns the rows of a plain VALUES list, else nil.
func valuesOf(n *tree.SelectStmt) [][]tree.Expr {
	if n == nil || n.With != nil || len(n.Cores) != 1 {
		return nil
	}
	v, ok := n.Cores[0].(*tree.ValuesClause)
	if !ok {
		return nil
	}
	return v.Rows
}

// resolution notes OR REPLACE, OR IGNORE and the like.
func (t *translator) resolution(a tree.ConflictAction) {
	switch a {
	case tree.ConflictDefault:
	case tree.ConflictReplace:
		t.st.Replace = true
	default:
		t.st.Modifier = true
	}
}

func (t *translator) conflict(n *tree.Upsert) *ast.Conflict {
	c := &ast.Conflict{Nothing: n.DoNothing}
	for _, o := range n.Target {
		name, ok := o.Expr.(*tree.Ident)
		if !ok {
			c.Others = append(c.Others, t.expr(o.Expr))
			continue
		}
		c.Columns = append(c.Columns, ident(name))
	}
	c.Predicate = t.expr(n.TargetWhere)
	t.upsert = true
	c.Set = t.assignments(n.Set)
	c.Where = t.expr(n.Where)
	t.upsert = false
	return c
}

func (t *translator) assignments(list []*tree.SetPair) []ast.Assignment {
	var out []ast.Assignment
	for _, n := range list {
		if !n.Paren && len(n.Columns) == 1 {
			out = append(out, ast.Assignment{Column: idents(n.Columns), Value: t.expr(n.Value)})
			continue
		}
		// Each value is computed with the row as it was, as in single assignments.
		if values := rowOf(n.Value, len(n.Columns)); values != nil {
			for i, c := range n.Columns {
				out = append(out, ast.Assignment{Column: []ast.Ident{ident(c)}, Value: t.expr(values[i])})
			}
			continue
		}
		t.opaque("SET assigns several columns at once")
		for _, c := range n.Columns {
			out = append(out, ast.Assignment{Column: []ast.Ident{ident(c)}})
		}
	}
	return out
}

// rowOf returns the elements of a row value of the given width, or nil if n is not one.
func rowOf(n tree.Expr, width int) []tree.Expr {
	if v, ok := n.(*tree.VectorExpr); ok && len(v.List) == width {
		return v.List
	}
	if _, query := n.(*tree.SubqueryExpr); query || width != 1 {
		return nil
	}
	return []tree.Expr{n}
}

func (t *translator) update(n *tree.UpdateStmt) {
	st := t.st
	st.Kind = ast.KindUpdate
	st.With = t.with(n.With)
	st.Target = t.table(n.Table, n.Alias)
	t.resolution(n.OrConflict)
	st.Modifier = st.Modifier || n.IndexedBy != nil || n.NotIndexed
	st.Set = t.assignments(n.Set)
	st.From = t.from(n.From)
	st.Where = t.expr(n.Where)
	st.Returning = t.items(n.Returning)
	st.OrderBy = t.terms(n.OrderBy)
	st.Limit = t.limit(n.Limit)
}

func (t *translator) remove(n *tree.DeleteStmt) {
	st := t.st
	st.Kind = ast.KindDelete
	st.With = t.with(n.With)
	st.Target = t.table(n.Table, n.Alias)
	st.Modifier = st.Modifier || n.IndexedBy != nil || n.NotIndexed
	st.Where = t.expr(n.Where)
	st.Returning = t.items(n.Returning)
	st.OrderBy = t.terms(n.OrderBy)
	st.Limit = t.limit(n.Limit)
}
