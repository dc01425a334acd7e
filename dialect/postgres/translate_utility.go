package postgres

import (
	"strings"

	tree "github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// utility translates everything that is not SELECT, INSERT, UPDATE or DELETE.
func (t *translator) utility(n *tree.Node, r rng) *ast.Statement {
	st := &ast.Statement{Kind: utilityKind(n)}
	switch v := n.Node.(type) {
	case *tree.Node_ExplainStmt:
		st.Runs = runs(v.ExplainStmt)
	case *tree.Node_CreateTableAsStmt:
		q := v.CreateTableAsStmt.Query.GetSelectStmt()
		if q != nil && v.CreateTableAsStmt.Objtype == tree.ObjectType_OBJECT_TABLE {
			if at := t.find(r, tree.Token_AS); at > 0 {
				st.Kind = ast.KindCreateSelect
				st.Tables = tableName(v.CreateTableAsStmt.Into.GetRel())
				st.Select = t.query(q, rng{at + 1, t.withData(r)})
				return st
			}
		}
	case *tree.Node_DeclareCursorStmt:
		if q := v.DeclareCursorStmt.Query.GetSelectStmt(); q != nil {
			if at := t.find(r, tree.Token_FOR); at > 0 {
				st.Kind = ast.KindReads
				st.Select = t.query(q, rng{at + 1, r.hi})
				return st
			}
		}
	case *tree.Node_CopyStmt:
		if q := v.CopyStmt.Query.GetSelectStmt(); q != nil && !v.CopyStmt.IsFrom && into(q) == nil && t.is(r.lo+1, '(') {
			st.Kind = ast.KindReads
			st.Select = t.query(q, rng{r.lo + 1, t.next(r.lo + 1)})
			return st
		}
	}
	if st.Kind != ast.KindSession && st.Kind != ast.KindExplain {
		st.Tables = tables(n)
	}
	if m := n.GetMergeStmt(); m != nil {
		t.merge(st, m, r)
	}
	return st
}

// runs reports whether an EXPLAIN runs what it explains.
func runs(s *tree.ExplainStmt) bool {
	for _, o := range s.Options {
		if o.GetDefElem().GetDefname() == "analyze" {
			return true // if only to say: analyze off
		}
	}
	return false
}

// withData is the end of the query of CREATE TABLE AS: before WITH [NO] DATA.
func (t *translator) withData(r rng) int {
	i := r.hi - 1
	if !t.isWord(i, "data") {
		return r.hi
	}
	if i--; t.isWord(i, "no") {
		i--
	}
	if t.is(i, tree.Token_WITH) {
		return i
	}
	return r.hi
}

func utilityKind(n *tree.Node) ast.Kind {
	switch v := n.Node.(type) {
	case *tree.Node_TransactionStmt, *tree.Node_VariableSetStmt, *tree.Node_VariableShowStmt, *tree.Node_DiscardStmt,
		*tree.Node_ListenStmt, *tree.Node_UnlistenStmt, *tree.Node_NotifyStmt, *tree.Node_LoadStmt,
		*tree.Node_CheckPointStmt, *tree.Node_ConstraintsSetStmt, *tree.Node_ClosePortalStmt, *tree.Node_FetchStmt,
		*tree.Node_DeallocateStmt:
		return ast.KindSession
	case *tree.Node_ExplainStmt:
		return ast.KindExplain
	case *tree.Node_TruncateStmt:
		return ast.KindTruncate
	case *tree.Node_DropStmt:
		if v.DropStmt.RemoveType == tree.ObjectType_OBJECT_TABLE {
			return ast.KindDrop
		}
		return ast.KindDDL
	case *tree.Node_MergeStmt, *tree.Node_CopyStmt, *tree.Node_PrepareStmt, *tree.Node_ExecuteStmt, *tree.Node_DoStmt,
		*tree.Node_CallStmt, *tree.Node_LockStmt, *tree.Node_CreateTableAsStmt,
		*tree.Node_RefreshMatViewStmt, *tree.Node_DeclareCursorStmt, *tree.Node_ReturnStmt, *tree.Node_PlassignStmt:
		return ast.Other
	}
	if strings.HasSuffix(string(inner(n).Descriptor().Name()), "Stmt") {
		return ast.KindDDL
	}
	return ast.Other
}

// tables names every table below n, and every name that DROP, COMMENT and the
// like give as a bare list of words, which may be a table's.
func tables(n *tree.Node) [][]ast.Ident {
	var out [][]ast.Ident
	var walk func(m protoreflect.Message)
	add := func(parts []ast.Ident) {
		if len(parts) > 0 {
			out = append(out, parts)
		}
	}
	walk = func(m protoreflect.Message) {
		switch v := m.Interface().(type) {
		case *tree.RangeVar:
			var parts []ast.Ident
			for _, p := range []string{v.Catalogname, v.Schemaname, v.Relname} {
				if p != "" {
					parts = append(parts, name(p))
				}
			}
			add(parts)
			return
		case *tree.DropStmt:
			for _, o := range v.Objects {
				objectNames(o, v.RemoveType, add)
			}
			return
		case *tree.CommentStmt:
			objectNames(v.Object, v.Objtype, add)
			return
		case *tree.SecLabelStmt:
			objectNames(v.Object, v.Objtype, add)
			return
		}
		children(m, walk)
	}
	walk(n.ProtoReflect())
	return out
}

// objectNames reads an object's name: for a table its own, for a part of a
// table (column, trigger, rule, constraint, policy) the table's.
func objectNames(n *tree.Node, kind tree.ObjectType, add func([]ast.Ident)) {
	parts := idents(n.GetList().GetItems())
	switch kind {
	case tree.ObjectType_OBJECT_COLUMN, tree.ObjectType_OBJECT_TRIGGER, tree.ObjectType_OBJECT_RULE,
		tree.ObjectType_OBJECT_TABCONSTRAINT, tree.ObjectType_OBJECT_POLICY:
		if len(parts) > 1 {
			add(parts[:len(parts)-1])
		}
	case tree.ObjectType_OBJECT_TABLE, tree.ObjectType_OBJECT_VIEW, tree.ObjectType_OBJECT_MATVIEW,
		tree.ObjectType_OBJECT_FOREIGN_TABLE:
		add(parts)
	}
}
