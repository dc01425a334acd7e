package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans the condition behind ON CONFLICT (...), which chooses partial unique indexes. The second member of a group
// has to meet the row that the first has made. So a row of what the INSERT gives must satisfy it: all of these indexes then
// cover the row. Of a row that is there it is as true for the group as it is for every member.

// arbiter returns the key that the statement conflicts on.
func (ug upsertGrouper) arbiter() *schema.Unique {
	c := ug.g.m.st.Conflict
	if c.Predicate == nil {
		return insertionOf(ug.g.m).conflictKey()
	}
	if len(c.Others) > 0 || len(c.Columns) == 0 {
		return nil
	}
	key := &schema.Unique{}
	for _, id := range c.Columns {
		name, ok := names.Column(ug.p.d, ug.g.m.table, id)
		if !ok {
			return nil
		}
		key.Columns = append(key.Columns, name)
	}
	return key
}

// arbiterWhere holds a new row against the condition behind ON CONFLICT (...).
func (ug upsertGrouper) arbiterWhere() string {
	p := ug.g.m.st.Conflict.Predicate
	if p == nil {
		return ""
	}
	for _, part := range ast.Conjuncts(p, nil) {
		part = ast.Unparen(part)
		x, negated := nullTest(part), part.Negated || strings.Contains(strings.ToUpper(part.Op), "NOT")
		if x == nil || !ug.newRowIs(x, !negated) {
			return "a new row may not be in the index that the upsert conflicts on"
		}
	}
	return ""
}

// newRowIs reports whether a column of a new row is NULL, or certainly not.
func (ug upsertGrouper) newRowIs(column *ast.Expr, null bool) bool {
	c := ug.g.m.table.Column(ug.p.names.TargetColumn(ug.g.m.sc, ug.g.m.target, column.Name))
	if c == nil {
		return false
	}
	given := ug.valueOf(c)
	if given == nil {
		return null && c.Nullable && !c.HasDefault && !c.Generated && !c.Identity
	}
	switch given = ast.Unparen(given); given.Kind {
	case ast.Null:
		return null && !c.Identity
	case ast.Number, ast.String:
		return !null
	case ast.Param:
		arg, ok := ug.p.src.paramAt(given.Span)
		if ok && !null {
			ug.g.group.Upsert.notNull(arg)
		}
		return ok && !null
	}
	return false
}

// notNull demands of an argument that it is not NULL.
func (u *UpsertGroup) notNull(arg Arg) {
	for _, k := range u.Keys {
		if k.Arg == arg {
			return
		}
	}
	u.Keys = append(u.Keys, InsertedKey{arg, false})
}
