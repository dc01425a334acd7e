package mysql

import (
	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// statement translates one statement of any kind.
func (t *translator) statement(n tree.StmtNode) *ast.Statement {
	st := &ast.Statement{}
	switch n := n.(type) {
	case *tree.SelectStmt:
		st.Kind = ast.KindSelect
		st.Select = t.query(n)
	case *tree.SetOprStmt:
		st.Kind = ast.KindSelect
		st.Select = t.query(n)
	case *tree.InsertStmt:
		t.insert(st, n)
	case *tree.UpdateStmt:
		t.update(st, n)
	case *tree.DeleteStmt:
		t.delete(st, n)
	case *tree.ExplainStmt:
		if st.Kind, st.Runs = ast.KindExplain, n.Analyze; n.Stmt == nil {
			st.Kind = ast.KindSession
		} else if _, describes := n.Stmt.(*tree.ShowStmt); describes { // DESCRIBE table touches no rows
			st.Kind = ast.KindSession
		}
		return st
	case *tree.DoStmt:
		t.do(st, n)
	case *tree.SetStmt:
		t.set(st, n)
		if st.Kind == ast.KindSession {
			return st
		}
	case *tree.CreateTableStmt:
		if st.Kind = ast.KindDDL; n.Select != nil { // the new columns are copies of plain ones, with their NOT NULL, DEFAULT and COMMENT
			st.Kind, st.Opaque = ast.KindCreateSelect, "the new table would have other column definitions than with the plain driver"
		}
		st.Tables = t.tablesOf(n)
		return st
	case *tree.TruncateTableStmt:
		st.Kind = ast.KindTruncate
		st.Tables = t.tablesOf(n)
		return st
	case *tree.DropTableStmt:
		if st.Kind = ast.KindDrop; n.IsView || n.TemporaryKeyword != tree.TemporaryNone {
			st.Kind = ast.KindDDL // it drops none but views, or temporary tables
		}
		st.Tables = t.tablesOf(n)
		return st
	default:
		t.other(st, n)
		return st
	}
	if t.pos < len(t.toks) {
		t.mismatch("the end")
	}
	if t.opaque != "" {
		st.Opaque = t.opaque
		if st.Kind != ast.KindSelect {
			st.Tables = t.tablesOf(n)
		}
	}
	return st
}

// other translates the statements whose rows the neutral form does not carry.
func (t *translator) other(st *ast.Statement, n tree.StmtNode) {
	switch n.(type) {
	case *tree.BeginStmt, *tree.CommitStmt, *tree.RollbackStmt, *tree.SavepointStmt, *tree.ReleaseSavepointStmt,
		*tree.UseStmt, *tree.KillStmt, *tree.DeallocateStmt, *tree.FlushStmt, *tree.ExplainForStmt,
		*tree.SetPwdStmt, *tree.SetRoleStmt, *tree.SetDefaultRoleStmt, *tree.UnlockTablesStmt:
		st.Kind = ast.KindSession
		return
	case *tree.ShowStmt:
		st.Kind = ast.KindSession
		for ; t.pos < len(t.toks); t.next() {
			if t.isWord("SELECT", "TABLE") && t.pos > 1 && !t.isWordAt(-1, "CREATE") {
				st.Kind = ast.Other
				st.Opaque = "SHOW has a subquery"
				st.Tables = t.everyName()
				return
			}
		}
		return
	case *tree.LockTablesStmt: // counted as DDL by the parser
	case tree.DDLNode, *tree.GrantStmt, *tree.RevokeStmt, *tree.GrantRoleStmt, *tree.RevokeRoleStmt,
		*tree.CreateUserStmt, *tree.AlterUserStmt, *tree.DropUserStmt:
		st.Kind = ast.KindDDL
		st.Tables = append(t.tablesOf(n), t.everyName()...)
		return
	}
	st.Kind = ast.Other
	st.Opaque = "the statement is neither a query nor a plain write"
	st.Tables = t.everyName()
}

// tablesOf collects the tables that the tree names.
func (t *translator) tablesOf(n tree.Node) [][]ast.Ident {
	v := &tableVisitor{of: t}
	n.Accept(v)
	return v.names
}

type tableVisitor struct {
	of    *translator
	names [][]ast.Ident
}

func (v *tableVisitor) Enter(n tree.Node) (tree.Node, bool) {
	if tn, ok := n.(*tree.TableName); ok {
		var name []ast.Ident
		if tn.Schema.O != "" {
			name = append(name, ast.Ident{Name: v.of.own(tn.Schema.O), Quoted: true})
		}
		v.names = append(v.names, append(name, ast.Ident{Name: v.of.own(tn.Name.O), Quoted: true}))
	}
	return n, false
}

func (v *tableVisitor) Leave(n tree.Node) (tree.Node, bool) { return n, true }

// everyName returns every name in the statement that could be a table, for
// statements whose tree does not tell.
func (t *translator) everyName() [][]ast.Ident {
	var out [][]ast.Ident
	for t.pos = 0; t.pos < len(t.toks); {
		var name []ast.Ident
		for {
			switch t.kind() {
			case lex.Word:
				name = append(name, ast.Ident{Name: t.peek()})
			case lex.QuotedIdent:
				name = append(name, ast.Ident{Name: unquote(t.peek()), Quoted: true})
			}
			t.next()
			if len(name) == 0 || !t.isOp(".") {
				break
			}
			t.next()
			if t.kind() != lex.Word && t.kind() != lex.QuotedIdent {
				break
			}
		}
		if len(name) > 0 {
			out = append(out, name)
		}
	}
	return out
}
