package postgres

import (
	"strings"

	"github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/slotsql/slotsql/rewrite"
)

// utility translates everything that is not SELECT, INSERT, UPDATE or DELETE.
func (t *translator) utility(n *ast.Node, r rng) *rewrite.Statement {
	st := &rewrite.Statement{Kind: utilityKind(n)}
	switch v := n.Node.(type) {
	case *ast.Node_ExplainStmt:
		in := rng{t.explained(r), r.hi}
		st.Runs = runs(v.ExplainStmt)
		switch q := v.ExplainStmt.Query.Node.(type) {
		case *ast.Node_SelectStmt:
			if into(q.SelectStmt) == nil {
				st.Kind = rewrite.KindExplain
				st.Select = t.query(q.SelectStmt, in)
				return st
			}
		case *ast.Node_InsertStmt, *ast.Node_UpdateStmt, *ast.Node_DeleteStmt:
			st.Kind = rewrite.KindExplain
			st.Explained = t.statement(v.ExplainStmt.Query, in)
			return st
		}
	case *ast.Node_CreateTableAsStmt:
		q := v.CreateTableAsStmt.Query.GetSelectStmt()
		if q != nil && v.CreateTableAsStmt.Objtype == ast.ObjectType_OBJECT_TABLE {
			if at := t.find(r, ast.Token_AS); at > 0 {
				st.Kind = rewrite.KindCreateSelect
				st.Tables = tableName(v.CreateTableAsStmt.Into.GetRel())
				st.Select = t.query(q, rng{at + 1, t.withData(r)})
				return st
			}
		}
	case *ast.Node_DeclareCursorStmt:
		if q := v.DeclareCursorStmt.Query.GetSelectStmt(); q != nil {
			if at := t.find(r, ast.Token_FOR); at > 0 {
				st.Kind = rewrite.KindReads
				st.Select = t.query(q, rng{at + 1, r.hi})
				return st
			}
		}
	case *ast.Node_CopyStmt:
		if q := v.CopyStmt.Query.GetSelectStmt(); q != nil && !v.CopyStmt.IsFrom && into(q) == nil && t.is(r.lo+1, '(') {
			st.Kind = rewrite.KindReads
			st.Select = t.query(q, rng{r.lo + 1, t.next(r.lo + 1)})
			return st
		}
	}
	if st.Kind != rewrite.KindSession {
		st.Tables = tables(n)
	}
	if m := n.GetMergeStmt(); m != nil {
		t.merge(st, m, r)
	}
	return st
}

// runs reports whether an EXPLAIN runs what it explains.
func runs(s *ast.ExplainStmt) bool {
	for _, o := range s.Options {
		if o.GetDefElem().GetDefname() == "analyze" {
			return true // if only to say: analyze off
		}
	}
	return false
}

// explained finds the statement that an EXPLAIN explains.
func (t *translator) explained(r rng) int {
	i := r.lo + 1
	if t.is(i, '(') && !t.startsQuery(i+1) {
		return t.next(i)
	}
	for t.isWord(i, "analyze") || t.isWord(i, "analyse") || t.isWord(i, "verbose") {
		i++
	}
	return i
}

func (t *translator) startsQuery(i int) bool {
	for t.is(i, '(') {
		i++
	}
	return t.is(i, ast.Token_SELECT) || t.is(i, ast.Token_WITH) || t.is(i, ast.Token_VALUES) || t.is(i, ast.Token_TABLE)
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
	if t.is(i, ast.Token_WITH) {
		return i
	}
	return r.hi
}

func utilityKind(n *ast.Node) rewrite.Kind {
	switch v := n.Node.(type) {
	case *ast.Node_TransactionStmt, *ast.Node_VariableSetStmt, *ast.Node_VariableShowStmt, *ast.Node_DiscardStmt,
		*ast.Node_ListenStmt, *ast.Node_UnlistenStmt, *ast.Node_NotifyStmt, *ast.Node_LoadStmt,
		*ast.Node_CheckPointStmt, *ast.Node_ConstraintsSetStmt, *ast.Node_ClosePortalStmt, *ast.Node_FetchStmt,
		*ast.Node_DeallocateStmt:
		return rewrite.KindSession
	case *ast.Node_TruncateStmt:
		return rewrite.KindTruncate
	case *ast.Node_DropStmt:
		if v.DropStmt.RemoveType == ast.ObjectType_OBJECT_TABLE {
			return rewrite.KindDrop
		}
		return rewrite.KindDDL
	case *ast.Node_MergeStmt, *ast.Node_CopyStmt, *ast.Node_PrepareStmt, *ast.Node_ExecuteStmt, *ast.Node_DoStmt,
		*ast.Node_CallStmt, *ast.Node_LockStmt, *ast.Node_ExplainStmt, *ast.Node_CreateTableAsStmt,
		*ast.Node_RefreshMatViewStmt, *ast.Node_DeclareCursorStmt, *ast.Node_ReturnStmt, *ast.Node_PlassignStmt:
		return rewrite.Other
	}
	if strings.HasSuffix(string(inner(n).Descriptor().Name()), "Stmt") {
		return rewrite.KindDDL
	}
	return rewrite.Other
}

// tables names every table below n, and every name that DROP, COMMENT and the
// like give as a bare list of words, which may be a table's.
func tables(n *ast.Node) [][]rewrite.Ident {
	var out [][]rewrite.Ident
	var walk func(m protoreflect.Message)
	add := func(parts []rewrite.Ident) {
		if len(parts) > 0 {
			out = append(out, parts)
		}
	}
	walk = func(m protoreflect.Message) {
		switch v := m.Interface().(type) {
		case *ast.RangeVar:
			var parts []rewrite.Ident
			for _, p := range []string{v.Catalogname, v.Schemaname, v.Relname} {
				if p != "" {
					parts = append(parts, name(p))
				}
			}
			add(parts)
			return
		case *ast.DropStmt:
			for _, o := range v.Objects {
				objectNames(o, v.RemoveType, add)
			}
			return
		case *ast.CommentStmt:
			objectNames(v.Object, v.Objtype, add)
			return
		case *ast.SecLabelStmt:
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
func objectNames(n *ast.Node, kind ast.ObjectType, add func([]rewrite.Ident)) {
	parts := names(n.GetList().GetItems())
	switch kind {
	case ast.ObjectType_OBJECT_COLUMN, ast.ObjectType_OBJECT_TRIGGER, ast.ObjectType_OBJECT_RULE,
		ast.ObjectType_OBJECT_TABCONSTRAINT, ast.ObjectType_OBJECT_POLICY:
		if len(parts) > 1 {
			add(parts[:len(parts)-1])
		}
	case ast.ObjectType_OBJECT_TABLE, ast.ObjectType_OBJECT_VIEW, ast.ObjectType_OBJECT_MATVIEW,
		ast.ObjectType_OBJECT_FOREIGN_TABLE:
		add(parts)
	}
}
