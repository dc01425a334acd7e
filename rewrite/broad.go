package rewrite

import (
	"slices"
)

// Bounds that most rows meet, and blocks of few rows.
//
//	SELECT COUNT(*) FROM products WHERE stock > 0
//	SELECT id FROM products WHERE seller = 7 AND stock > 0
//
// Where all candidates are one list of keys, a bound that most rows meet makes a list of most rows, which costs
// MariaDB many times what their totals cost it; and of a seller with fifty products the totals cost less than the look for
// candidates. How many rows these are only the engine knows, so it is asked for its estimate each time that the read
// runs. Where the list would not be much shorter than the block, the read runs without candidates. Both forms are exact:
// the estimate decides nothing but the cost.

// Broad is the form of a read with candidates for bounds that many of its rows meet.
type Broad struct {
	// Rows asks how many rows are read for the candidates that meet the bounds by base value, and how many without
	// the bounds. It returns two rows with these in a column of the name rows.
	Rows Bound
	// Whole is the statement without candidates.
	Whole Bound
}

// An EstimatingDialect is a Dialect of an engine that estimates how many rows a query reads,
// and for which a read of many candidates costs more than one of all rows.
type EstimatingDialect interface {
	// Estimate writes a statement that runs none of the queries, and returns a row for each, with
	// how many rows the engine expects it to read in a column of the name rows.
	Estimate(queries ...string) string
}

// narrowing is what candidates have added to a statement.
type narrowing struct {
	sources int       // whose candidates are named
	single  int       // of these, sources of queries of one value
	bounds  int       // queries of the WITH clause that are bounds
	only    *narrowed // those of the only one, if many rows may be
}

// narrowed is what the candidates of one source have added.
type narrowed struct {
	edits     []edit
	many      map[edit]edit // the totals of many rows, for which those of few stand
	some, all string        // queries of the rows that meet the bounds by base value, and of those that the block asks for without them
}

// note counts the condition that has been added for a source. Of a statement with
// several, or of one for the first rows, there is no form for many rows. before are the block's edits before forFew.
func (c *candidates) note(edits, before []edit) {
	c.narrowing.sources++
	if c.oneValued(c.sc, c.q) {
		c.narrowing.single++ // MIN or MAX, which has candidates in both forms
		return
	}
	c.narrowing.only = nil
	if c.narrowing.sources-c.narrowing.single > 1 || c.ofFirst() || len(c.near) == 0 || !c.listed() {
		return
	}
	many := map[edit]edit{}
	for i, e := range c.edits {
		if e != before[i] {
			many[e] = before[i]
		}
	}
	c.narrowing.only = &narrowed{edits, many, c.from("1", slices.Concat(c.near, c.rest)), c.from("1", c.rest)}
}

// ofFirst reports whether the candidates are those of the first rows.
func (c *candidates) ofFirst() bool {
	return slices.ContainsFunc(c.windows, func(w window) bool { return w.first != nil })
}

// forFew writes the totals of the source as those of few rows, where candidates leave no more.
func (c *candidates) forFew() {
	if _, ok := c.d.(EstimatingDialect); !ok && !c.ofFirst() {
		return
	}
	q := c.qualifier(c.b)
	few := map[string]string{}
	for _, column := range c.b.table.Counter.Counters {
		few[c.total(c.b.table, q, column, true)] = c.total(c.b.table, q, column, false)
	}
	c.rewriteTotals(c.q.Span, few)
}

// broad returns the form for bounds that many rows meet, or nil.
func (r *reader) broad() *Broad {
	d, ok := r.d.(EstimatingDialect)
	n := r.narrowing.only
	if !ok || n == nil {
		return nil
	}
	whole := slices.DeleteFunc(slices.Clone(r.edits), func(e edit) bool { return slices.Contains(n.edits, e) })
	for i, e := range whole {
		if many, ok := n.many[e]; ok {
			whole[i] = many
		}
	}
	return &Broad{
		Rows:  r.tp.expand(r.d, r.tp.expandSQL(d.Estimate(n.some, n.all))),
		Whole: r.tp.expand(r.d, r.tp.expandSQL(r.tp.mark(r.src.cutEdited(Span{0, len(r.src.sql)}, whole)))),
	}
}
