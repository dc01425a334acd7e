package propose

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// companions returns the columns that increments set along with the counters,
// each in the same way wherever an increment sets it, as far as more increments
// are slotted with them; needed are companions in any case.
func (j *judge) companions(counters []string, needed []schema.Companion) []schema.Companion {
	if len(counters) == 0 {
		return nil
	}
	t := j.table.Table
	isNeeded := func(column string) bool {
		return slices.ContainsFunc(needed, func(co schema.Companion) bool { return co.Column == column })
	}
	merges, bad := map[string]schema.Merge{}, map[string]bool{}
	for _, ch := range j.found.increments {
		for name, merge := range j.beside(ch, counters) {
			if merge == "" || merges[name] != "" && merges[name] != merge || t.CompanionFault(name, merge) != "" {
				bad[name] = true
			}
			merges[name] = merge
		}
	}
	out := slices.Clone(needed)
	for i := range t.Columns {
		if name := t.Columns[i].Name; merges[name] != "" && !bad[name] && !isNeeded(name) {
			out = append(out, schema.Companion{Column: name, Merge: merges[name]})
		}
	}
	// Those go that no further increment is slotted for: a companion makes
	// other statements that set it drain.
	best := j.gain(counters, out)
	for i := len(out) - 1; i >= len(needed); i-- {
		without := slices.Delete(slices.Clone(out), i, i+1)
		if g := j.gain(counters, without); g >= best {
			out, best = without, g
		}
	}
	return out
}

// onUpdate returns the columns that change ON UPDATE of the row as companions:
// nothing is slotted unless they are.
func onUpdate(t *schema.Table) (out []schema.Companion) {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.OnUpdate && t.CompanionFault(c.Name, schema.Latest) == "" {
			out = append(out, schema.Companion{Column: c.Name, Merge: schema.Latest})
		}
	}
	return out
}

// beside returns the ordinary columns that an increment sets, with the merge
// that its value asks for; "" where a slot cannot take it.
func (j *judge) beside(ch *change, counters []string) map[string]schema.Merge {
	out := map[string]schema.Merge{}
	for i, a := range ch.set {
		if name := ch.columns[i]; name != "" && !slices.Contains(counters, name) {
			out[name] = mergeOf(j.d, a.Value, name)
		}
	}
	return out
}

// mergeOf is the merge that a value of a column asks for beside an increment; ""
// where a slot cannot take it.
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

// gain is how many runs are slotted, less those that drain. Where it is not known
// how often statements are run, an increment that is slotted outweighs them: a
// table is configured for its increments.
func (j *judge) gain(counters []string, merges []schema.Companion) (n int64) {
	worth := int64(1)
	if !j.counted() {
		worth = 1 << 20
	}
	for _, s := range j.found.mentions {
		switch o := j.plan(s, counters, merges); {
		case o.slotted:
			n += worth * s.weight()
		case o.class == rewrite.Drain || o.class == rewrite.Refused:
			n -= s.weight()
		}
	}
	return n
}
