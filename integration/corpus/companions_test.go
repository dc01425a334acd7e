package corpus

import (
	"slices"
	"testing"

	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// companions proposes the companions of an application's tables from its
// statements, as a user who writes its configuration would: columns that
// increments set beside a counter, each always in the same way, as long as
// every other column of these increments is one too. It returns merges by
// table and column.
func (a application) companions(t *testing.T, p *twin.Pair, tables []counterTable) map[string]map[string]schema.Merge {
	t.Helper()
	d := cases.Dialects[a.Dialect]
	out := map[string]map[string]schema.Merge{}
	for _, table := range tables {
		facts, err := cases.Facts(t.Context(), p, "", table.name)
		if err != nil || facts == nil {
			t.Fatalf("facts of %s: %v, %v", table.name, facts, err)
		}
		var sets []map[string]schema.Merge // of each increment
		for _, s := range a.Statements {
			st, err := d.Parse(s.SQL)
			if err != nil || st.Target == nil || len(st.Target.Name) == 0 ||
				!d.SameTable(st.Target.Name[len(st.Target.Name)-1], facts.Name) {
				continue
			}
			if set := besideCounters(d, facts, table, st); len(set) > 0 {
				sets = append(sets, set)
			}
		}
		found := agreed(facts, sets)
		if len(found) > 0 {
			out[table.name] = found
		}
	}
	return out
}

// besideCounters returns the ordinary columns that an increment sets, with the
// merge that its value asks for; "" where a slot cannot take it.
func besideCounters(d rewrite.Dialect, facts *schema.Table, table counterTable, st *ast.Statement) map[string]schema.Merge {
	set := st.Set
	if st.Conflict != nil {
		set = st.Conflict.Set
	}
	increments, out := false, map[string]schema.Merge{}
	for _, a := range set {
		name, known := names.Column(d, facts, a.Column[len(a.Column)-1])
		if !known {
			continue
		}
		slottable, _ := facts.Slottable(name) // one that is not is an ordinary column
		if slottable && slices.ContainsFunc(table.counters, func(c string) bool { return d.SameColumn(ast.Ident{Name: c}, name) }) {
			increments = increments || readsColumn(d, a.Value, name)
			continue
		}
		out[name] = mergeOf(d, a.Value, name)
	}
	if !increments {
		return nil
	}
	return out
}

// agreed keeps the columns that can be companions and on whose merge all
// increments agree. An increment that sets another column, too, is not slotted
// for its companions, and would only have to drain: what it sets goes.
func agreed(facts *schema.Table, sets []map[string]schema.Merge) map[string]schema.Merge {
	out, bad := map[string]schema.Merge{}, map[string]bool{}
	for _, set := range sets {
		for name, merge := range set {
			if merge == "" || out[name] != "" && out[name] != merge || facts.CompanionFault(name, merge) != "" {
				bad[name] = true
			}
			out[name] = merge
		}
	}
	for again := true; again; {
		again = false
		for _, set := range sets {
			spoilt := false
			for name := range set {
				spoilt = spoilt || bad[name]
			}
			for name := range set {
				if spoilt && !bad[name] {
					bad[name], again = true, true
				}
			}
		}
	}
	for name := range bad {
		delete(out, name)
	}
	return out
}

// mergeOf returns the merge that a value of a column asks for beside an increment; "" where a
// slot cannot take it: one that is computed from columns, but for the greatest and the least of
// the column itself and another value. The command has one like it (propose), which this module cannot import.
func mergeOf(d rewrite.Dialect, e *ast.Expr, column string) schema.Merge {
	if e == nil {
		return ""
	}
	if e.Kind == ast.Call && len(e.Args) == 2 && readsColumn(d, e, column) {
		switch e.Op {
		case "greatest", "max":
			return schema.Max
		case "least", "min":
			return schema.Min
		}
	}
	if ast.HasColumn(e) || ast.HasQuery(e) {
		return ""
	}
	return schema.Latest
}

// readsColumn reports whether an expression names the column, outside of subqueries.
func readsColumn(d rewrite.Dialect, e *ast.Expr, column string) bool {
	found := false
	e.Walk(func(x *ast.Expr) bool {
		found = found || x.Kind == ast.ColumnRef && len(x.Name) > 0 && d.SameColumn(x.Name[len(x.Name)-1], column)
		return !found
	})
	return found
}
