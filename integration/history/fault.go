package history

import "github.com/slotsql/slotsql/integration/twin"

// Fault is a way in which a database goes wrong, made up to see that the
// checker finds it.
type Fault string

// The faults that can be made.
const (
	Lost    Fault = "an increment is lost"
	Doubled Fault = "an increment is counted twice"
	Stale   Fault = "a read shows what another transaction was shown before"
	Deleted Fault = "an increment counts where there is no row"
	Dirty   Fault = "a row comes back with another counter than it has"
	Blind   Fault = "a condition on the counter is ignored"
	Winners Fault = "two statements win with one version"
	Unseen  Fault = "a statement that sets seen alone is lost"
)

// Faults are all of them.
var Faults = []Fault{Lost, Doubled, Stale, Deleted, Dirty, Blind, Winners, Unseen}

// wrong says which statements go wrong.
func (o *Op) wrong() bool { return o.Tag%5 == 0 }

// falsify changes what is sent.
func (r *runner) falsify(table Table, o *Op, query string, args []any) (string, []any) {
	if r.Fault == Blind && o.judges() {
		by := *o
		by.Form -= 3
		query, args = r.statement(table, &by)
		return twin.Placeholders(r.dialect, query), args
	}
	if r.Fault == Unseen && o.Kind == Mark {
		return twin.Placeholders(r.dialect, "UPDATE "+string(table)+" SET title = ? WHERE id = ?"), []any{r.title(o), r.id(o.Key)}
	}
	if o.Kind != Increment || !o.wrong() {
		return query, args
	}
	switch r.Fault {
	case Lost: // title stands in, so that the row counts as affected
		return twin.Placeholders(r.dialect, "UPDATE "+string(table)+" SET title = ? WHERE id = ?"), []any{r.title(o), r.id(o.Key)}
	case Doubled:
		out := append([]any(nil), args...)
		for i, a := range out {
			if n, ok := a.(int32); ok {
				out[i] = 2 * n
			}
		}
		return query, out
	}
	return query, args
}

// forge changes what comes back.
func (r *runner) forge(o *Op) {
	switch {
	case r.Fault == Deleted && o.Kind == Increment && o.Affected == 0:
		o.Affected = 1
	case r.Fault == Winners && o.Kind == Swap && o.Affected == 0:
		o.Affected = 1
	case r.Fault == Dirty && o.Kind == Read && o.wrong() && o.Got[o.Key].There:
		o.Got[o.Key].Views += 1000
	case r.Fault == Stale && o.Kind == Read:
		got := o.Got[o.Key]
		if old := r.stale[o.Key].Swap(&got); old != nil && o.wrong() && old.There == got.There {
			o.Got[o.Key] = *old
		}
	}
}
