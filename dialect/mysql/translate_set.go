package mysql

import (
	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// do translates DO: expressions that are evaluated, and nothing else.
func (t *translator) do(st *ast.Statement, n *tree.DoStmt) {
	st.Kind = ast.KindReads
	t.want("DO")
	st.Select = &ast.Select{Values: [][]*ast.Expr{t.list(n.Exprs)}}
}

// set translates SET. It touches no table's rows unless it has a subquery,
// which may give a variable its value.
func (t *translator) set(st *ast.Statement, n *tree.SetStmt) {
	st.Kind = ast.KindSession
	for i := range t.toks {
		if t.isWordAt(i, "SELECT", "TABLE", "WITH", "VALUES") {
			st.Kind = ast.KindReads
		}
	}
	if st.Kind == ast.KindSession {
		return
	}
	t.want("SET")
	var values []*ast.Expr
	for i, v := range n.Variables {
		if i > 0 {
			t.wantOp(",")
		}
		for t.pos < len(t.toks) && !t.isOp("=") && !t.isOp(":=") && !t.isOp("(") && !t.isOp(",") {
			t.next()
		}
		if !t.acceptOp(":=") {
			t.wantOp("=")
		}
		values = append(values, t.expr(v.Value))
	}
	st.Select = &ast.Select{Values: [][]*ast.Expr{values}}
}
