package mysql

import (
	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// createTable translates CREATE TABLE ... SELECT; without a query it is DDL.
func (t *translator) createTable(st *ast.Statement, n *tree.CreateTableStmt) {
	if n.Select == nil {
		st.Kind = ast.KindDDL
		st.Tables = t.tablesOf(n)
		return
	}
	st.Kind = ast.KindCreateSelect
	st.Tables = t.tablesOf(n)
	for !t.isWord("TABLE") && t.pos < len(t.toks) {
		t.next()
	}
	t.want("TABLE")
	if t.isWord("IF") {
		t.want("IF", "NOT", "EXISTS")
	}
	t.dotted(n.Table.Schema.O, n.Table.Name.O)
	st.Create = &ast.Create{At: t.end()}
	for _, c := range n.Cols {
		st.Create.Columns = append(st.Create.Columns, ast.Ident{Name: t.own(c.Name.Name.O), Quoted: true})
	}
	if end := t.close(); end > 0 && !t.isWordAt(1, "SELECT", "WITH") && !t.isOpAt(1, "(") {
		st.Create.List, st.Create.At = true, t.toks[end].Start
		t.skipParens()
	}
	// Options and partitions, up to the query.
	for t.pos < len(t.toks) && !t.isWord("SELECT", "WITH", "AS", "TABLE", "VALUES", "IGNORE", "REPLACE") &&
		!(t.isOp("(") && t.isWordAt(1, "SELECT", "WITH")) {
		if t.isOp("(") {
			t.skipParens()
			continue
		}
		t.next()
	}
	t.accept("IGNORE", "REPLACE")
	t.accept("AS")
	st.Select = t.query(n.Select)
}
