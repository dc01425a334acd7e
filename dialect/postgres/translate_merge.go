package postgres

import (
	"slices"

	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// merge records which rows a MERGE changes if its ON condition alone decides that: the statement
// names no table but its target, and has no action for rows that ON does not join. Nor does it delete any: a
// row that others have inserted after the drain's lock could not be found again.
func (t *translator) merge(st *ast.Statement, s *tree.MergeStmt, r rng) {
	apart := func(n *tree.Node) bool {
		when := n.GetMergeWhenClause()
		return when.GetMatchKind() == tree.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_SOURCE || when.GetCommandType() == tree.CmdType_CMD_DELETE
	}
	if len(st.Tables) != 1 || s.WithClause != nil || slices.ContainsFunc(s.MergeWhenClauses, apart) {
		return
	}
	using, on, when := t.find(r, tree.Token_USING), t.find(r, tree.Token_ON), t.find(r, tree.Token_WHEN)
	if using < 0 || on < using || when < on {
		return
	}
	st.Merge = true
	st.Target = t.table(s.Relation)
	st.From = t.from([]*tree.Node{s.SourceRelation}, rng{using + 1, on})
	st.Where = t.clause(s.JoinCondition, rng{on + 1, when})
}
