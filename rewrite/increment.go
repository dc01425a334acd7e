package rewrite

import "github.com/slotsql/slotsql/rewrite/schema"

// Increment is a slotted upsert.
type Increment struct {
	Bound
	Table *schema.Table
	// Holding is the upsert with a lock on the base row that keeps other sessions from changing the row;
	// nil where the upsert itself has that lock. It runs when the upsert affects no row, which may mean that its own
	// lock is not certain, and for roles that may not read the upsert's system columns.
	Holding *Bound
	// Add, where it is set, is the update of the slot row itself. It may run
	// instead of the upsert when that row is there; when it affects no row the
	// upsert runs. Key is what the key's columns equal, which says which row
	// that is.
	Add *Bound
	Key []KeyValue
	// AddLocked, where it is set, is Add for a transaction, where locks last: it locks the base row
	// first.
	AddLocked *Bound
	// Which tells the row from the table's others, by whatever fixes it: it tells an increment of a
	// cold row from one of a hot row. ByOther is the unique key that it is of, where
	// that is not the slots' key: then the row may have another name elsewhere.
	Which   []KeyValue
	ByOther string
	// Row drains the row that is added to.
	Row DrainTable
	// Coalesced is the form that many executions share; nil when they may not.
	Coalesced *Coalesced
	Deltas    []DeltaArg
	// NonZero reports whether a literal delta is not zero already; otherwise one of
	// the bound ones must not be.
	NonZero bool
	// NotNumber are arguments compared with key columns that are not numbers:
	// MySQL lets a number match many of them.
	NotNumber []Arg
	// Forms are arguments compared with key columns that a string has to have a
	// form for.
	Forms []FormArg
	// Inserted are arguments that the INSERT of an Upsert has for columns that
	// the slotted upsert does not touch.
	Inserted []InsertedArg
	// Upsert reports whether the plan's SQL, not a drain, runs when no row is
	// affected: it inserts the row.
	Upsert bool
	// Companions reports whether the increment sets companions. If one of them is Latest, its SQL runs on the base row only
	// where that has no slots, since what slots hold is newer: the plan's Proof, or a drain, sees to that.
	Companions, Latest bool
	// Asked is a query that returns a row if the row may have slots, 1 if it has some, and Stated an UPDATE that sets the Latest
	// companions once more. In a transaction, the plan's SQL may run on the base row and Asked behind it. If there are slots, they
	// are folded, and then Stated makes the statement's values the latest again. nil where the dialect or the table has none.
	Asked, Stated *Bound

	plain  bool // the original statement is exact on the base table, too, whatever its arguments
	onBase bool // it is where its arguments are as base has it
	base   []DeltaArg
}

// KeyValue is what a column of the key equals: a piece of the application's
// SQL, Parts[0] Args[0] Parts[1] and so on.
type KeyValue struct {
	Parts []SQL
	Args  []Arg
}

// DeltaArg is a bound delta and what must hold of it; otherwise the fallback
// runs.
type DeltaArg struct {
	Arg         Arg
	NonNegative bool        // after Arg.Negate has been applied
	Side        schema.Side // that a slot's counter has, as NonNegative
	Max         int64       // largest magnitude
	Scale       int         // digits allowed after the point; 0: integers only
}

// BaseExact reports whether the original statement is exact on the base table, too, whatever
// its arguments.
func (i *Increment) BaseExact() bool { return i.plain }

// FitsAny reports whether the increment may go to a slot, and to the base row, whatever its arguments are, if they are so many.
func (i *Increment) FitsAny(inputs int) bool {
	for _, a := range i.Args {
		if !a.Slot && (a.Index < 0 || a.Index >= inputs || a.Name != "") {
			return false
		}
	}
	return i.NonZero && i.onBase && len(i.base)+len(i.Deltas)+len(i.NotNumber)+len(i.Forms)+len(i.Inserted) == 0
}

// OnBase reports whether the original statement is exact on the base table, too, if its
// arguments meet require.
func (i *Increment) OnBase() (require []DeltaArg, ok bool) { return i.base, i.onBase }

// AddsOnBase is OnBase for the counters alone, if Asked and Stated see to the companions.
func (i *Increment) AddsOnBase() (require []DeltaArg, ok bool) {
	return i.base, i.Asked != nil
}
