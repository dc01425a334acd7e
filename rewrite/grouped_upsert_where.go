package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans the conditions of a conflict clause. The second member of a group has to meet
// the row that the first has made, and to update it. So a row of what the INSERT gives must
// satisfy both: the one behind ON CONFLICT (...), which chooses partial unique indexes, all of
// which then cover the row; and the one behind DO UPDATE. Of a row that is there each of them
// is as true for the group as it is for every member.

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

// updateWhere holds a new row against the condition behind DO UPDATE: columns equal what the INSERT
// gives for them.
func (ug upsertGrouper) updateWhere() string {
	w := ug.g.m.st.Conflict.Where
	if w == nil {
		return ""
	}
	for _, part := range ast.Conjuncts(w, nil) {
		part = ast.Unparen(part)
		if part.Kind != ast.Binary || part.Op != "=" || len(part.Args) != 2 ||
			!ug.newRowEquals(ast.Unparen(part.Args[0]), ast.Unparen(part.Args[1])) {
			return "a new row may not satisfy the WHERE of the conflict clause"
		}
	}
	ug.g.m.st.Where = w // which further conditions stand behind
	return ""
}

// newRowEquals reports whether an equality holds for a new row, as long as arguments are equal.
func (ug upsertGrouper) newRowEquals(l, r *ast.Expr) bool {
	if l.Kind == ast.Number && r.Kind == ast.Number {
		return ug.p.consts.noted(ug.p.src.sql[l.Start:l.End]) == ug.p.consts.noted(ug.p.src.sql[r.Start:r.End])
	}
	if l.Kind != ast.ColumnRef {
		l, r = r, l
	}
	if l.Kind != ast.ColumnRef || r.Kind != ast.Param {
		return false
	}
	c := ug.g.m.table.Column(ug.p.names.TargetColumn(ug.g.m.sc, ug.g.m.target, l.Name))
	if c == nil || ug.g.m.table.IsCounter(c.Name) {
		return false
	}
	given := ug.valueOf(c)
	if given == nil || ast.Unparen(given).Kind != ast.Param {
		return false
	}
	takes, why := ug.p.consts.checkInserted(c, given)
	if why != "" || takes == nil || !takes.Integer && takes.Length == 0 {
		return false
	}
	a, ok := ug.p.src.paramAt(r.Span)
	if !ok {
		return false
	}
	u := ug.g.group.Upsert
	u.notNull(takes.Arg)
	ug.g.group.Inserted = append(ug.g.group.Inserted, *takes)
	if a == takes.Arg {
		ug.g.uses[a] = append(ug.g.uses[a], c.Type, c.Type)
	} else {
		u.Equal = append(u.Equal, [2]Arg{takes.Arg, a})
	}
	return true
}
