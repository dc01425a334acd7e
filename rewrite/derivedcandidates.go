package rewrite

import (
	"slices"
	"strings"
)

// Candidates of a source in its derived form.
//
//	SELECT views, COUNT(*) FROM posts WHERE views > 100 GROUP BY views
//
// MySQL takes this with a table of totals in place of posts (derive.go), in which no engine finds the rows by the counter's
// index. The condition that names the candidates then stands inside of that query, where the counters' names mean base values:
//
//	FROM (SELECT posts.id, <total of views> AS views FROM posts WHERE id IN (<candidates>)) AS posts
//
// It is implied by what the block around asks for, as it is beside the block's own conditions.

// narrowDerived adds the condition for the derived form of a block's only source. The block's WHERE names totals without an
// edit, so candidates are found by the edits that it would have if the table itself were the source.
func (r *reader) narrowDerived(sc *scope, q *Select, b *binding) {
	if len(sc.bindings) > 1 || !sc.outermost() || q.Where != nil && hasQuery(q.Where) {
		return
	}
	table, block, inPlace := *b, *sc, *r
	table.counts, table.derived, table.scope = true, false, &block
	block.bindings, block.grouped = []*binding{&table}, false
	inPlace.edits, inPlace.replaced = nil, nil
	if err := (&blockReader{&inPlace, &block, nil}).expr(q.Where, inPredicate); err != nil {
		return
	}
	c, ok := inPlace.candidates(&block, q, &table)
	if !ok {
		return
	}
	c.conditions()
	c.firsts()
	if len(c.windows) == 0 {
		return
	}
	condition := c.condition(c.keys)
	c.reader = r
	before, end := slices.Clone(r.edits), Span{b.source.Ref.End, b.source.Ref.End}
	at := slices.IndexFunc(r.edits, func(e edit) bool { return e.Span == end })
	c.fewDerived()
	edits := []edit{{end, " WHERE " + condition}}
	c.note(edits, before)
	r.edits = slices.Insert(r.edits, at, edits...)
	r.reason += "; its rows are candidates, named by key"
}

// fewDerived writes the totals of the derived form as those of few rows, where candidates leave no more.
func (c *candidates) fewDerived() {
	for i := range c.edits {
		if e := &c.edits[i]; e.Start == c.b.source.Ref.Start && e.End == e.Start {
			for many, few := range c.fewTotals() {
				e.sql = strings.ReplaceAll(e.sql, many, few)
			}
		}
	}
}
