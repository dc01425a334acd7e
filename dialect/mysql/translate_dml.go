package mysql

import (
	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// modifiers passes the words between the verb and the table.
func (t *translator) modifiers(st *ast.Statement, priority mysql.PriorityEnum, quick, ignore bool) {
	if priority != mysql.NoPriority {
		st.Modifier = true
		if !t.accept("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED") {
			t.mismatch("a priority")
		}
	}
	if quick {
		st.Modifier = true
		t.want("QUICK")
	}
	if ignore {
		st.Modifier = true
		t.want("IGNORE")
	}
}

// single returns the one table of a single-table UPDATE or DELETE, or nil.
func single(j *tree.Join) *tree.TableSource {
	if j.Right != nil || j.ExplicitParens {
		return nil
	}
	ts, ok := j.Left.(*tree.TableSource)
	if !ok {
		return nil
	}
	if _, ok := ts.Source.(*tree.TableName); !ok {
		return nil
	}
	return ts
}

// target passes the written table, or the joined tables of a multi-table
// form.
func (t *translator) target(st *ast.Statement, refs *tree.Join) {
	ts := single(refs)
	if ts == nil {
		st.From = t.sources(refs)
		return
	}
	name := ts.Source.(*tree.TableName)
	if len(name.PartitionNames) > 0 || len(name.IndexHints) > 0 {
		st.Modifier = true
	}
	st.Target = t.tableSource(ts)
}

func (t *translator) update(st *ast.Statement, n *tree.UpdateStmt) {
	st.Kind = ast.KindUpdate
	st.With = t.with(n.With)
	t.want("UPDATE")
	t.modifiers(st, n.Priority, false, n.IgnoreErr)
	t.target(st, n.TableRefs.TableRefs)
	t.want("SET")
	st.Set = t.assignments(n.List)
	t.tail(st, n.Where, n.Order, n.Limit)
}

func (t *translator) tail(st *ast.Statement, where tree.ExprNode, order *tree.OrderByClause, limit *tree.Limit) {
	if where != nil {
		t.want("WHERE")
		st.Where = t.expr(where)
	}
	st.OrderBy = t.orderBy(order)
	st.Limit = t.limit(limit)
}

func (t *translator) assignments(ns []*tree.Assignment) []ast.Assignment {
	var out []ast.Assignment
	for i, n := range ns {
		if i > 0 {
			t.wantOp(",")
		}
		out = append(out, t.assignment(n.Column, n.Expr))
	}
	return out
}

func (t *translator) assignment(c *tree.ColumnName, value tree.ExprNode) ast.Assignment {
	a := ast.Assignment{Column: t.dotted(c.Schema.O, c.Table.O, c.Name.O)}
	if !t.acceptOp(":=") {
		t.wantOp("=")
	}
	if d, ok := value.(*tree.DefaultExpr); ok && d.Name == nil {
		t.want("DEFAULT")
		return a
	}
	a.Value = t.expr(value)
	return a
}

func (t *translator) delete(st *ast.Statement, n *tree.DeleteStmt) {
	st.Kind = ast.KindDelete
	st.With = t.with(n.With)
	t.want("DELETE")
	t.modifiers(st, n.Priority, n.Quick, n.IgnoreErr)
	if !n.IsMultiTable {
		t.want("FROM")
		t.deleteTarget(st, n.TableRefs.TableRefs)
		t.tail(st, n.Where, n.Order, n.Limit)
		return
	}
	if n.BeforeFrom {
		t.deleteList(st, n.Tables.Tables)
		t.want("FROM")
	} else {
		t.want("FROM")
		t.deleteList(st, n.Tables.Tables)
		t.want("USING")
	}
	st.From = t.sources(n.TableRefs.TableRefs)
	t.tail(st, n.Where, n.Order, n.Limit)
}

func (t *translator) deleteTarget(st *ast.Statement, refs *tree.Join) {
	t.target(st, refs)
	if st.Target == nil {
		t.fail("DELETE without a table")
	}
}

// deleteList passes a, b.*, c.
func (t *translator) deleteList(st *ast.Statement, names []*tree.TableName) {
	for i, n := range names {
		if i > 0 {
			t.wantOp(",")
		}
		st.DeleteFrom = append(st.DeleteFrom, t.dotted(n.Schema.O, n.Name.O))
		if t.acceptOp(".") {
			t.wantOp("*")
		}
	}
}

func (t *translator) insert(st *ast.Statement, n *tree.InsertStmt) {
	st.Kind = ast.KindInsert
	st.Replace = n.IsReplace
	if n.IsReplace {
		t.want("REPLACE")
	} else {
		t.want("INSERT")
	}
	t.modifiers(st, n.Priority, false, n.IgnoreErr)
	t.accept("INTO")
	t.target(st, n.Table.TableRefs)
	if len(n.PartitionNames) > 0 {
		st.Modifier = true
		t.want("PARTITION")
		t.skipParens()
	}
	switch {
	case n.Setlist:
		t.want("SET")
		for i, c := range n.Columns {
			if i > 0 {
				t.wantOp(",")
			}
			a := t.assignment(c, n.Lists[0][i])
			st.Set, st.Modifier = append(st.Set, a), st.Modifier || len(a.Column) > 1
		}
	case n.Select != nil:
		if t.insertColumnsAhead(n) {
			t.insertColumns(st, n.Columns)
		}
		st.Select = t.query(n.Select)
	default:
		if t.isOp("(") {
			t.insertColumns(st, n.Columns)
		}
		if !t.accept("VALUES", "VALUE") {
			t.mismatch("VALUES")
		}
		t.rows(st, n.Lists)
	}
	if len(n.OnDuplicate) > 0 {
		t.want("ON", "DUPLICATE", "KEY", "UPDATE")
		st.Conflict = &ast.Conflict{Set: t.assignments(n.OnDuplicate)}
	}
}

// insertColumnsAhead tells a column list from a query in parentheses.
func (t *translator) insertColumnsAhead(n *tree.InsertStmt) bool {
	return t.isOp("(") && (len(n.Columns) > 0 || t.isOpAt(1, ")"))
}

func (t *translator) insertColumns(st *ast.Statement, columns []*tree.ColumnName) {
	t.wantOp("(")
	for i, c := range columns {
		if i > 0 {
			t.wantOp(",")
		}
		name := t.dotted(c.Schema.O, c.Table.O, c.Name.O)
		if len(name) > 0 {
			st.Columns = append(st.Columns, name[len(name)-1])
			st.Modifier = st.Modifier || len(name) > 1 // nothing looks at what the list is qualified by
		}
	}
	t.wantOp(")")
}

// rows passes the VALUES rows. DEFAULT comes as an opaque expression without
// operands.
func (t *translator) rows(st *ast.Statement, lists [][]tree.ExprNode) {
	for i, row := range lists {
		if i > 0 {
			t.wantOp(",")
		}
		t.wantOp("(")
		out := make([]*ast.Expr, 0, len(row))
		for j, v := range row {
			if j > 0 {
				t.wantOp(",")
			}
			if d, ok := v.(*tree.DefaultExpr); ok && d.Name == nil {
				start := t.start()
				t.want("DEFAULT")
				out = append(out, &ast.Expr{Op: "DEFAULT", Span: t.span(start)})
				continue
			}
			out = append(out, t.expr(v))
		}
		t.wantOp(")")
		st.Rows = append(st.Rows, out)
	}
}
