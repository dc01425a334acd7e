package propose

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// What a change of a counter is taken for by its form.
const (
	fullSave   = "saving the whole row writes the counter back as it was read, and overwrites what other sessions have counted since"
	version    = "a version column: WHERE compares it with the value read before, so each change waits for the previous one"
	ticket     = "a ticket number: RETURNING hands out each value once, so each increment waits for the previous one"
	bounded    = "bounded in WHERE: drains, but with min: or max: runs as written while the base row has enough"
	minSavings = 2 // further columns that make a SET of a counter the save of a row
)

// kind says what a change that drains for one of the counters looks like; "" for
// nothing in particular.
func (j *judge) kind(ch *change, counters []string) string {
	others, saved := 0, false
	for i, a := range ch.set {
		name := ch.columns[i]
		if !slices.Contains(counters, name) {
			others++
			continue
		}
		if a.Value != nil && !readsColumn(j.d, a.Value, name) {
			saved = saved || a.Value.Kind == ast.Param || a.Value.Kind == ast.Number || a.Value.Kind == ast.String ||
				a.Value.Kind == ast.Excluded
			continue
		}
		switch op := j.comparison(ch.st.Where, name); {
		case op == "=":
			return version
		case op != "":
			return bounded
		case j.returns(ch.st, name):
			return ticket
		}
	}
	if saved && others >= minSavings && !slices.ContainsFunc(ch.set, computed) {
		return fullSave
	}
	return ""
}

// computed reports whether an assignment takes its value from columns, which the save of
// a row does for nothing but a version that it raises.
func computed(a ast.Assignment) bool {
	if a.Value == nil || a.Value.Kind == ast.Binary && (a.Value.Op == "+" || a.Value.Op == "-") {
		return a.Value == nil
	}
	return ast.HasColumn(a.Value) || ast.HasQuery(a.Value)
}

// comparison is the operator by which a top-level condition compares a column;
// "" for none.
func (j *judge) comparison(e *ast.Expr, column string) string {
	switch {
	case e == nil:
	case e.Kind == ast.Paren:
		return j.comparison(e.Args[0], column)
	case e.Kind == ast.Binary && (e.Op == "AND" || e.Op == "OR"):
		for _, a := range e.Args {
			if op := j.comparison(a, column); op != "" {
				return op
			}
		}
	case e.Kind == ast.Binary && slices.Contains([]string{"=", "<", ">", "<=", ">="}, e.Op) && readsColumn(j.d, e, column):
		return e.Op
	}
	return ""
}

// returns reports whether RETURNING reads the column.
func (j *judge) returns(st *ast.Statement, column string) bool {
	for _, item := range st.Returning {
		if item.Expr != nil && (item.Expr.Kind == ast.Star || readsColumn(j.d, item.Expr, column)) {
			return true
		}
	}
	return false
}

// tableNotes are what is worth knowing of the table itself.
func tableNotes(t Table) []string {
	var out []string
	switch {
	case t.Triggers.Ruled:
		out = append(out, "row-level security or a rewrite rule decides what an UPDATE does: no counter of the table is slotted")
	case t.Triggers.Unseen != "":
		out = append(out, t.Triggers.Unseen)
	case t.Triggers.Update:
		out = append(
			out,
			"a trigger fires on UPDATE: nothing is slotted without defer_triggers: true, which lets it fire once for the sum of many increments",
		)
	}
	if t.Triggers.Insert {
		out = append(out, "a trigger fires on INSERT: upserts may do more than they state")
	}
	return out
}

// columnNotes are what is worth knowing of a counter's column.
func columnNotes(t Table, column string) []string {
	c := t.Column(column)
	var out []string
	if c.Nullable {
		out = append(out, "nullable: increments of a row drain while its base value is NULL")
	}
	if c.Unsigned {
		out = append(out, "UNSIGNED: what subtracts drains")
	}
	if slices.Contains(t.Indexed, column) {
		out = append(out, "indexed: lists ordered by it read the index, and the rows that have slots")
	}
	for i := range t.Columns {
		if g := &t.Columns[i]; g.Generated && slices.Contains(g.DependsOn, column) {
			out = append(out, "generated column "+g.Name+" is computed from it")
		}
	}
	return out
}
