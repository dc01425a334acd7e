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

// joinedRows is that of a W of rows of a join: there each may cost many rows of the tables, and is as far from the one before.
var joinedRows = "5"

// maxNarrowed bounds the conditions of one statement: each repeats parts of it.
const maxNarrowed = 16

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
	rows   fragment // how many
	order  string   // the block's order, by base values
	values bool     // the first values are wanted, with all rows that have them
	last   []string // which rows have the last values that are wanted of the columns before the counter
}

// joined is what queries of a join repeat of the block.
type joined struct {
	clause string   // FROM
	conds  []string // those that name other sources, and no counter
}

// candidates are those of one source of a block.
type candidates struct {
	*reader
	sc      *scope
	q       *Select
	b       *binding
	lone    bool // the block has no other source, and names none that is around it
	windows []window
	tail    int    // where WHERE goes in a block without one
	join    joined // of a block of several sources whose first rows are wanted

	around *pushedDown // the condition around the block whose windows are looked for
	summed []string    // the counters whose sums are joined to the source

	candidateKeys
	blockConditions
	with []string // the WITH queries of the condition
	queryBounds
}

// blockConditions are the conditions of the block, and of the one around it, by what they are good for.
type blockConditions struct {
	near      []string // have windows, by base values
	nearPlain []string // the same with base values in the queries in them, too: for estimates
	rest      []string // W is taken by them
	besides   bool     // there are others, or conditions in rest
	constants bool     // some of those that W or the join is taken by compare with a constant or the result of a query
}

// candidateKeys are what candidates are named by.
type candidateKeys struct {
	keys    []string // the key columns, qualified
	keyless bool     // a key may be NULL: of rows that have no slots
}

// narrow adds the condition for each source of a block that has been read. A
// source that has none is read as before.
func (r *reader) narrow(sc *scope, q *Select) {
	if len(r.edits) == 0 || r.found.locks || strings.Contains(r.src.sql, markerByte) || r.mistyped(nil) != "" ||
		r.top != nil && slices.ContainsFunc(r.top.Items, r.namedByPlaceholder) {
		return
	}
	for _, b := range sc.bindings {
		if b.derived {
			r.narrowDerived(sc, q, b)
			continue
		}
		if !b.counts {
			continue
		}
		c, ok := r.candidates(sc, q, b)
		if !ok {
			continue
		}
		c.conditions()
		c.pushedDownWindows()
		c.firsts()
		if len(c.windows) == 0 {
			continue
		}
		before := slices.Clone(r.edits)
		c.forFew() // first, for the condition repeats parts of the block
		edits := c.besideSemijoin()
		if edits == nil && c.worth() {
			c.joinSums()
			edits = c.beside(c.condition(c.keys))
		}
		if edits == nil {
			r.edits = before
			continue
		}
		c.note(edits, before)
		c.insert(edits)
	}
}

// candidates returns those of a source of a block, without conditions yet, and whether the source may have some.
func (r *reader) candidates(sc *scope, q *Select, b *binding) (candidates, bool) {
	if r.readsBase(b.table) || len(b.columns) > 0 || len(b.table.Counter.Key) == 0 || r.narrowing.sources >= maxNarrowed ||
		r.fixedRows(sc, b, q.Where) != nil { // the totals of a few rows cost less than the look for candidates
		return candidates{}, false
	}
	c := candidates{reader: r, sc: sc, q: q, b: b, lone: len(sc.bindings) == 1 && (sc.outermost() || r.oneValued(sc, q))}
	for _, k := range b.table.Counter.Key {
		c.keys = append(c.keys, r.qualifier(b)+"."+r.d.Quote(k))
		col := b.table.Column(k)
		c.keyless = c.keyless || col == nil || col.Nullable
	}
	return c, !c.keyless || !c.listed()
}

// outermost reports whether no scope around this one has sources.
func (s *scope) outermost() bool {
	for s = s.parent; s != nil; s = s.parent {
		if len(s.bindings) > 0 {
			return false
		}
	}
	return true
}

// insert adds the edits of a condition. What opens it comes before other edits at its place.
func (c *candidates) insert(edits []edit) {
	last := len(edits) - 1
	c.edits = append(slices.Concat(edits[:last], c.edits), edits[last])
}

// beside writes the condition beside the block's own.
func (c *candidates) beside(condition string) []edit {
	w, word := c.q.Where, " WHERE "
	if w == nil {
		if slices.ContainsFunc(c.edits, func(e edit) bool { return e.Span == Span{c.tail, c.tail} && strings.HasPrefix(e.sql, word) }) {
			word = " AND " // behind that of another source
		}
		return []edit{{Span{c.tail, c.tail}, word + condition}}
	}
	return []edit{{Span{w.Start, w.Start}, "("}, {Span{w.End, w.End}, ") AND " + condition}}
}

// worth reports whether the condition is exact, and may cost less than the totals
// of the rows that it leaves out. Where the engine reads all candidates before it looks at
// another source, a constant that fixes rows of that one, or a row of the query
// around the block, is taken for the better way in.
func (c *candidates) worth() bool {
	switch {
	case c.lone || !c.listed():
		return true
	case c.b.optional: // a row that is missing has no key
		return false
	case c.ofFirst(): // of which no more are listed than have slots, beside the windows
		return true
	}
	return !c.fixedElsewhere()
}

// fixedElsewhere reports whether a constant fixes rows of another source.
func (c *candidates) fixedElsewhere() bool {
	if c.q.Where == nil {
		return false
	}
	t := c.semijoins[c.q]
	for _, e := range conjuncts(c.q.Where, nil) {
		e = unparen(e)
		if t.open && !fixedBy(e) {
			continue // a row outside, which nothing fixes
		}
		if (e.Kind == Binary && e.Op == "=" || e.Kind == In && !e.Negated) && !c.own(e) && c.fixes(e) {
			return true
		}
	}
	return false
}

// fixes reports whether an equality is none between two sources of the block.
func (c *candidates) fixes(e *Expr) bool {
	inside := 0
	for _, a := range e.Args {
		if a = unparen(a); a.Kind == ColumnRef && c.inBlock(a.Name) {
			inside++
		}
	}
	return inside < 2
}

// inBlock reports whether a name certainly means a column of the block's sources.
func (c *candidates) inBlock(name []Ident) bool {
	for _, b := range c.sc.bindings {
		if len(name) > 1 && !c.sameLabel(name[len(name)-2], b.label) {
			continue
		}
		if has, err := c.hasColumn(b, name[len(name)-1]); err == nil && has == yes {
			return true
		}
	}
	return false
}
