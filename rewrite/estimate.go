package rewrite

import "slices"

// Reads of which the engine's estimate decides whether they name candidates.
//
//	SELECT id FROM products WHERE seller = 7 AND stock > 0
//	SELECT id FROM posts WHERE author = 7 ORDER BY views DESC LIMIT 10
//	SELECT COUNT(*) FROM products WHERE stock > 0
//
// Of a seller with fifty products the totals cost less than the look for candidates. And where all candidates are
// one list of keys, a bound that most rows meet makes a list of most rows, which costs MariaDB many times what their totals
// cost it. How many rows these are only the engine knows, so it is asked for its estimates each time that the read
// runs. Both forms are exact: the estimate decides nothing but the cost.

// An Estimate is a question to the engine, and the form of the read without candidates.
type Estimate struct {
	// Query asks the engine how many rows it expects of the block without its bounds, of the counter's table and, if
	// Listed, of the block within its bounds by base value; these three of each source that has candidates, if there are several.
	Query Bound
	// Listed reports whether the candidates are one list of keys, all rows within the bounds among them.
	Listed bool
	// Only are the statement with the candidates of one source each, where several have some.
	Only []Bound
	// Whole is the statement without candidates.
	Whole Bound
}

// An EstimatingDialect is a Dialect of an engine that estimates how many rows a query reads.
type EstimatingDialect interface {
	// Estimate writes a statement that runs none of the queries, of which there are two at least, and whose result has
	// the estimates.
	Estimate(queries ...string) string
	// Estimated reads that result, in which NULL is "": how many rows the engine expects of each query, or
	// fewer numbers if the result is not as expected.
	Estimated(columns []string, rows [][]string) []int64
}

// narrowing is what candidates have added to a statement.
type narrowing struct {
	main    *walkedBlock // the statement's query
	sources int          // whose candidates are named
	single  int          // of these, sources of queries of one value
	bounds  int          // queries of the WITH clause that are bounds
	added   []*narrowed  // by each source but these
}

// narrowed is what the candidates of one source have added.
type narrowed struct {
	edits     []edit
	many      map[edit]edit // the totals of many rows, for which those of few stand
	listed    bool
	constants bool
	estimated []string     // the queries of Estimate
	of        *walkedBlock // the block, if its aggregates may be written by difference instead
}

// note notes the condition that has been added for a source. It may have been added in vain. before are the block's edits
// before forFew.
func (c *candidates) note(edits, before []edit) {
	c.narrowing.sources++
	if c.q != c.main && c.oneValued(c.sc, c.q) {
		c.narrowing.single++ // MIN or MAX, which has candidates in both forms
		return
	}
	n := narrowed{edits: edits, many: map[edit]edit{}, listed: c.listsBounds(), constants: c.constants}
	for i, e := range before {
		if c.edits[i] != e {
			n.many[c.edits[i]] = e
		}
	}
	table := c.from("1", nil)
	if n.listed {
		n.estimated = []string{c.from("1", c.rest), table, c.from("1", slices.Concat(c.nearPlain, c.rest))}
	} else if c.constants {
		n.estimated = []string{c.fromBlock("1", slices.Concat(c.rest, c.join.conds)), table}
	}
	c.narrowing.added = append(slices.Clip(c.narrowing.added), &n)
}

// listsBounds reports whether the candidates are a list of all rows within bounds, on an engine that reads such a list
// slowly.
func (c *candidates) listsBounds() bool {
	return c.d.Traits().KeyIn[0] == "" && len(c.near) > 0 && !c.ofFirst()
}

// ofFirst reports whether the candidates are those of the first rows.
func (c *candidates) ofFirst() bool {
	return slices.ContainsFunc(c.windows, func(w window) bool { return w.first != nil })
}

// forFew writes the totals of the source as those of few rows, where candidates leave no more.
func (c *candidates) forFew() {
	c.rewriteTotals(c.q.Span, c.fewTotals())
}

// fewTotals returns the totals of many rows, each with that of few rows which stands for it; none where candidates may leave
// many.
func (c *candidates) fewTotals() map[string]string {
	if !c.listsBounds() && !c.ofFirst() {
		return nil
	}
	q := c.qualifier(c.b)
	few := map[string]string{}
	for _, column := range c.b.table.Counter.Counters {
		few[c.total(c.b.table, q, column, true)] = c.total(c.b.table, q, column, false)
	}
	return few
}

// maxLists is of how many sources an estimate decides at once.
const maxLists = 4

// estimate returns the question whether the statement should name candidates, or nil if it should.
func (r *reader) estimate() *Estimate {
	added := r.narrowing.added
	if len(added) != 1 {
		return r.estimateEach(added)
	}
	n := added[0]
	if n.listed && !n.constants && n.of != nil {
		if edits, ok := r.differences(n.of); ok {
			return r.question(n.estimated, n.of.with(edits, notAdded(r.edits, n)), true)
		}
	}
	return r.question(n.estimated, notAdded(r.edits, n), n.listed)
}

// estimateEach is estimate for several sources. On an engine that reads them slowly each list may be one of most rows, beside
// which those of the others leave few.
func (r *reader) estimateEach(added []*narrowed) *Estimate {
	if len(added) == 0 || len(added) > maxLists || slices.ContainsFunc(added, func(n *narrowed) bool { return !n.listed }) {
		return nil
	}
	var queries []string
	var only [][]edit
	for i, n := range added {
		queries = append(queries, n.estimated...)
		only = append(only, notAdded(r.edits, slices.Concat(added[:i], added[i+1:])...))
	}
	e := r.question(queries, notAdded(r.edits, added...), true)
	if e != nil {
		for _, edits := range only {
			e.Only = append(e.Only, r.bound(edits))
		}
	}
	return e
}

// notAdded returns edits without what sources have added.
func notAdded(edits []edit, added ...*narrowed) []edit {
	out := slices.Clone(edits)
	for _, n := range added {
		for _, e := range n.edits { // two sources may have opened the same parenthesis
			if i := slices.Index(out, e); i >= 0 {
				out = slices.Delete(out, i, i+1)
			}
		}
		for i, e := range out {
			if many, ok := n.many[e]; ok {
				out[i] = many
			}
		}
	}
	return out
}

// whetherFew returns the queries of the question whether the totals of a block's rows cost less than the slots of the whole
// table; nil if no constant may leave few rows.
func (r *reader) whetherFew(w *walkedBlock) []string {
	if w.q.Where == nil || len(w.edits) == 0 {
		return nil
	}
	c := candidates{reader: r, q: w.q, sc: w.sc, b: w.sc.bindings[0], lone: true}
	var conds []string
	for _, e := range conjuncts(w.q.Where, nil) {
		if c.repeatable(e) {
			conds = append(conds, "("+c.tp.mark(c.src.cut(e.Span))+")")
			c.constants = c.constants || comparesConstant(e)
		}
	}
	if !c.constants {
		return nil
	}
	return []string{c.from("1", conds), c.from("1", nil)}
}

// question asks for the estimates of queries, where the engine has some. The edits are those of the form without candidates.
func (r *reader) question(queries []string, whole []edit, listed bool) *Estimate {
	d, ok := r.d.(EstimatingDialect)
	if !ok || len(queries) == 0 {
		return nil
	}
	return &Estimate{Query: r.tp.expand(r.d, r.tp.expandSQL(d.Estimate(queries...))), Listed: listed, Whole: r.bound(whole)}
}

// bound writes the statement with edits.
func (r *reader) bound(edits []edit) Bound {
	return r.tp.expand(r.d, r.tp.expandSQL(r.tp.mark(r.src.cutEdited(Span{0, len(r.src.sql)}, edits))))
}
