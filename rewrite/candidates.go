package rewrite

import (
	"slices"
	"strings"
)

// Candidates.
//
// Once a counter is an expression, a block that compares it or orders by it
// cannot use the counter's index: the engine computes the total of every row.
// But few rows have slots, and of most of these the slots hold too little to
// matter. So the block gets one condition more, which names by key all rows
// that can be in its result, and which the engine answers from indexes:
//
//	WHERE <total of views> > 100 AND (views > 100 OR id IN (<candidates>))
//
// The rest of the block stays as it is. That is exact because the condition is
// implied by what the block asks for: it judges nothing, and the block's own
// conditions, order and limit do all that they did before. Every value is read
// in the one statement, so from one snapshot.
//
// # Windows
//
// Let P be a condition on a counter. A row that meets P by its total and not
// by its base value has slots, whose sum lifts it over a bound: for `views > k`
// its base value is at most k. Take W, the hundred rows below k with the
// greatest base values, and w, the last of these. A row below k and outside of
// W has a base value of at most w. So if base value + sum > k, then w + sum > k:
// it is one of those whose sum alone says so, and few say so. (For an upper
// bound all of it holds with signs changed, and `views = k` is both.) Where
// fewer rows than that are below k, W has them all, w is NULL and no sums are
// looked at. Candidates are the rows that meet P by base value, W, and those of
// which w + sum meets the bound.
//
// What is compared is always sum + w: it stays in the range of the totals, where
// a difference of unsigned numbers would not, and rounding keeps an order.
//
// W may be taken of the rows that meet the block's other conditions, those that
// can be written a second time. Where rows are equal W may come out with other
// ones each time that it is written; w is the same.
//
// Of several conditions with windows, those of one are taken of the rows that meet by base value all conditions before it:
// a row that meets all by totals and not all by base values is found by the first that it does not meet. So
// `views > k AND likes < m` needs no index of likes.
//
// # The first rows
//
// ORDER BY views DESC LIMIT n is a condition, too: the total is at least l, for
// any l that n rows of the result reach. The first n rows by base value tell
// one, the least of their totals. W are then the first n and a hundred more.
// A row outside of W that has no slots has a base value of at most w: it can
// only be wanted if w >= l, and then it is among the first n rows without slots
// (in the block's own order, of which ties are part). Fewer than n rows may meet
// the block's conditions by total and, where these have windows, by base value as well: then no
// l is known, these rows are candidates themselves, and all others are left to the windows of
// the conditions.
// MAX(views) is the first row of ORDER BY views DESC, MIN(views) of ORDER BY views.
//
// Where a counter may be NULL, all this is said of the rows whose is not. A total is NULL where the base value is, so of the
// others the first n that meet the conditions by totals, in the block's order, are candidates as well: the first n of
// all rows are among the first n of either kind.

// windowRows is how many rows W has, beside those of LIMIT: enough that few sums
// reach from its one end to the other, and little work.
//
// It is a variable for tests of tables with few rows: go test -ldflags "-X
// github.com/slotsql/slotsql/rewrite.windowRows=2".
var windowRows = "100"

// A window is W of one bound.
type window struct {
	column *Column
	down   bool       // it holds the greatest base values below the bound
	edge   string     // what base values beyond the bound meet; "" for any
	op     string     // how a total compares with the bound if it meets the condition
	bound  string     // "" for the bound of first
	first  *firstRows // whose bound it is; nil for that of a condition
	before []string   // what the conditions before its own ask of base values

	// implied is what a condition on a row of columns says of base values: MariaDB
	// looks for such rows in no index.
	implied string
}

// firstRows are the first rows of a block by a counter.
type firstRows struct {
	rows  fragment // how many
	order string   // the block's order, by base values
}

// candidates are those of a block that reads one table.
type candidates struct {
	*reader
	sc      *scope
	q       *Select
	b       *binding
	windows []window
	tail    int // where WHERE goes in a block without one

	near []string // conditions that have windows, by base values
	rest []string // conditions that W is taken by

	keys    []string // the key columns, qualified
	keyless bool     // a key may be NULL: of rows that have no slots
	with    []string // the WITH queries of the condition
}

// narrow adds the condition to a block that reads one counter table and nothing else, and reports whether it did.
func (r *reader) narrow(sc *scope, q *Select) bool {
	if len(r.edits) == 0 || r.found.locks || strings.Contains(r.src.sql, markerByte) || r.mistyped(nil) != "" || len(r.derived) > 0 ||
		!ofOneTable(q) && !q.Distinct || len(sc.bindings) != 1 || slices.ContainsFunc(q.Items, r.namedByPlaceholder) {
		return false
	}
	b := sc.bindings[0]
	if !b.counts || r.readsBase(b.table) || len(b.columns) > 0 || len(b.table.Counter.Key) == 0 ||
		r.fixedRows(sc, b, q.Where) != nil { // the totals of a few rows cost less than the look for candidates
		return false
	}
	c := candidates{reader: r, sc: sc, q: q, b: b}
	for _, k := range b.table.Counter.Key {
		c.keys = append(c.keys, r.qualifier(b)+"."+r.d.Quote(k))
		col := b.table.Column(k)
		c.keyless = c.keyless || col == nil || col.Nullable
	}
	if c.keyless && c.listed() {
		return false
	}
	c.conditions()
	c.firsts()
	if len(c.windows) == 0 {
		return false
	}
	edits := c.beside(c.condition())
	// What opens the condition comes before other edits at its place.
	last := len(edits) - 1
	r.edits = append(slices.Concat(edits[:last], r.edits), edits[last])
	r.narrowed = true
	return true
}

// beside writes the condition beside the block's own.
func (c *candidates) beside(condition string) []edit {
	w := c.q.Where
	if w == nil {
		return []edit{{Span{c.tail, c.tail}, " WHERE " + condition}}
	}
	return []edit{{Span{w.Start, w.Start}, "("}, {Span{w.End, w.End}, ") AND " + condition}}
}
