package mysql

import (
	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite"
)

// do translates DO: expressions that are evaluated, and nothing else.
func (t *translator) do(st *rewrite.Statement, n *tree.DoStmt) {
	st.Kind = rewrite.KindReads
	t.want("DO")
	st.Select = &rewrite.Select{Values: [][]*rewrite.Expr{t.list(n.Exprs)}}
}

// set translates SET. It touches no table's rows unless it has a subquery,
// which may give a variable its value.
func (t *translator) set(st *rewrite.Statement, n *tree.SetStmt) {
	st.Kind = rewrite.KindSession
	for i := range t.toks {
		if t.isWordAt(i, "SELECT", "TABLE", "WITH", "VALUES") {
			st.Kind = rewrite.KindReads
		}
	}
	if st.Kind == rewrite.KindSession {
		return
	}
	t.want("SET")
	var values []*rewrite.Expr
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
	st.Select = &rewrite.Select{Values: [][]*rewrite.Expr{values}}
}
