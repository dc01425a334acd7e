package dialect

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A FunctionWriter is the StoredSQL of an engine where a function can count: for triggers, and for
// programs without slotsql.
type FunctionWriter interface {
	StoredSQL
	// CountingFunction writes the statements that create, or replace, a function. It takes the
	// values of the key, a delta for each counter and the values of the companions, does what an UPDATE
	// of the base row with these would do, and returns how many rows that would have affected.
	//
	// It is one more increment beside those of Increment and Add, and exact for the same reasons: what it
	// adds to the base row it adds under the row's lock, and what it adds to a slot it adds by their
	// statements. Whatever these do not take (a value that may leave its range, a decrement
	// of an unsigned counter, a bound) it decides on the base row, with its slots folded under its lock.
	CountingFunction(t *schema.Table, f CountingFunction) []string
	// CountingRights writes the statements that let a role call the function.
	CountingRights(t *schema.Table, f CountingFunction) []string
	// NoCountingFunction returns why the table can have no such function here, "" if it can.
	NoCountingFunction(t *schema.Table) string
	// Routines returns the triggers, functions, procedures and rules of the database whose text may
	// name one of the tables, functions or views.
	Routines(ctx context.Context, s Session, names []string) ([]Routine, error)
	// Counted writes the statement of a routine that calls a counting function. The arguments are
	// those of CountingFunction, a delta that is not given is 0, and a companion NULL.
	Counted(r *Routine, function string, arguments []Argument) string
}

// CountingFunction is what a counting function is made of.
type CountingFunction struct {
	Name     string
	Counters []string // those that slots may hold counts of
	// Definer: it has the rights of its owner, rather than those of its caller.
	Definer bool
	// Mark is a word that stays in the definition.
	Mark string
}

// Limited reports whether one of the counters has bounds.
func (f CountingFunction) Limited(t *schema.Table) bool {
	for _, c := range f.Counters {
		if t.Counter.BoundsOf(c) != nil {
			return true
		}
	}
	return false
}

// WithinBounds writes the conditions under which counters stay in their bounds when deltas are added; "" for none. Column writes a
// column of the base row, and counter the counter in it, as a number that may leave its type.
func WithinBounds(c *schema.Counter, deltas []rewrite.Delta, column, counter func(string) string) string {
	limit := func(l *schema.Limit) string {
		if l.Column != "" {
			return column(l.Column)
		}
		return fmt.Sprint(l.Number)
	}
	var out []string
	for _, dl := range deltas {
		b := c.BoundsOf(dl.Column)
		if b == nil {
			continue
		}
		if b.Min != nil {
			out = append(out, "("+dl.SQL+" >= 0 OR "+counter(dl.Column)+" + "+dl.SQL+" >= "+limit(b.Min)+")")
		}
		if b.Max != nil {
			out = append(out, "("+dl.SQL+" <= 0 OR "+counter(dl.Column)+" + "+dl.SQL+" <= "+limit(b.Max)+")")
		}
	}
	return strings.Join(out, " AND ")
}

// ProvedWithinBounds is WithinBounds for a base value that proves it for the total: no slot is on the other side of zero.
func ProvedWithinBounds(c *schema.Counter, deltas []rewrite.Delta, column, counter func(string) string) string {
	out := WithinBounds(c, deltas, column, counter)
	for _, dl := range deltas {
		if b := c.BoundsOf(dl.Column); b != nil && b.Min != nil && b.Max != nil {
			out += " AND " + dl.SQL + " >= 0" // slots hold room that the base value counts as taken
		}
	}
	return out
}

// A Storer is a Dialect of an engine that keeps the text of views, and perhaps of functions.
type Storer interface {
	// Stored returns what writes and reads them.
	Stored() StoredSQL
}

// StoredSQL writes and reads views. Where functions can count it is a FunctionWriter, too.
type StoredSQL interface {
	// CreateView writes the statements that create, or replace, a view of the table's schema.
	CreateView(t *schema.Table, name, query string) []string
	// Find returns the functions and views of a name in the table's schema.
	Find(ctx context.Context, s Session, t *schema.Table, name string) ([]Stored, error)
}

// Stored is a function or view that a database has.
type Stored struct {
	Kind StoredKind
	// Ref is how DROP names it, and Definition what the engine has kept of its text.
	Ref, Definition string
}

// StoredKind is what a Stored is, as DROP names it.
type StoredKind string

// The kinds.
const (
	StoredFunction StoredKind = "FUNCTION"
	StoredView     StoredKind = "VIEW"
)
