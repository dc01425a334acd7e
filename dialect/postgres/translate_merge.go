package postgres

import (
	"slices"

	"github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite"
)

// merge records which rows a MERGE changes if its ON condition alone decides that: the statement
// names no table but its target, and has no action for rows that ON does not join. Nor does it delete any: a
// row that others have inserted after the drain's lock could not be found again.
func (t *translator) merge(st *rewrite.Statement, s *ast.MergeStmt, r rng) {
	apart := func(n *ast.Node) bool {
		when := n.GetMergeWhenClause()
		return when.GetMatchKind() == ast.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_SOURCE || when.GetCommandType() == ast.CmdType_CMD_DELETE
	}
	if len(st.Tables) != 1 || s.WithClause != nil || slices.ContainsFunc(s.MergeWhenClauses, apart) {
		return
	}
	using, on, when := t.find(r, ast.Token_USING), t.find(r, ast.Token_ON), t.find(r, ast.Token_WHEN)
	if using < 0 || on < using || when < on {
		return
	}
	st.Merge = true
	st.Target = t.table(s.Relation)
	st.From = t.from([]*ast.Node{s.SourceRelation}, rng{using + 1, on})
	st.Where = t.clause(s.JoinCondition, rng{on + 1, when})
}
