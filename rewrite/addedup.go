package rewrite

import (
	"slices"
	"strings"
)

// This file says which blocks may have their aggregates written as those of base values and of slots: sums of a table
// (sums.go), sums by group (groupsums.go), aggregates by difference (difference.go).

// adding says which blocks of a statement may be written so.
type adding struct {
	blocks  bool      // any
	main    *Select   // the statement's query, where its form is decided last, see wholeForm
	perhaps []addedUp // those that are if they have many rows
}

// A walkedBlock is a block as the reader leaves it, before candidates are looked for.
type walkedBlock struct {
	sc     *scope
	q      *Select
	edits  []edit // the statement's
	before narrowing
}

// asWalked notes a block that may be written so; nil for any other one but the statement's query, where that has forms.
func (r *reader) asWalked(sc *scope, q *Select) *walkedBlock {
	if q != r.adding.main && !(r.adding.blocks && ofOneTable(q) && sc.bindings[0].counts && r.groups(q)) {
		return nil
	}
	r.work += len(r.edits)
	return &walkedBlock{sc, q, slices.Clone(r.edits), r.narrowing}
}

// holds reports whether an edit is one of the block.
func (w *walkedBlock) holds(e edit) bool { return e.within(w.q.Span) }

// with returns edits with others for those of the block.
func (w *walkedBlock) with(others, edits []edit) []edit {
	return append(slices.DeleteFunc(slices.Clone(edits), w.holds), others...)
}

// narrowed reports whether candidates of the block itself are named.
func (w *walkedBlock) narrowed(r *reader) bool { return r.narrowing.sources > w.before.sources }

// addUpInside writes a block so, unless it is the statement's query. What it reads is the same for each row around it.
func (r *reader) addUpInside(w *walkedBlock) {
	switch {
	case w == nil:
		return
	case w.q == r.adding.main:
		r.narrowing.main = w
	case r.aggregates > 0 || !slices.ContainsFunc(w.edits, w.holds) || !r.independent(w):
		return
	default:
		if edits, reason := w.addedUp(r); edits != nil {
			r.writeAddedUp(addedUp{w, edits, reason, r.whetherFew(w)})
			return
		}
	}
	if n := len(r.narrowing.added); n > len(w.before.added) {
		r.narrowing.added[n-1].of = w
	}
}

// addedUp are the edits of a block that adds base values and slots up separately.
type addedUp struct {
	of     *walkedBlock
	edits  []edit
	reason string
	few    []string // the question whether it has few rows; nil if no constant may leave few
}

// writeAddedUp writes a block so, unless a constant may leave few rows, whose totals cost less than all slots: then it does if
// the engine can be asked, see ifMany.
func (r *reader) writeAddedUp(a addedUp) {
	if a.few != nil {
		r.adding.perhaps = append(r.adding.perhaps, a)
		return
	}
	r.edits, r.narrowing = a.of.with(a.edits, a.of.edits), a.of.before // without the block's candidates
	if r.reason == "" {
		r.reason = a.reason
	}
}

// ifMany writes the one block so that may have few rows, for a statement that asks for the engine's estimate of them.
func (r *reader) ifMany() *Estimate {
	if len(r.adding.perhaps) != 1 || r.reason != "" {
		return nil
	}
	a := r.adding.perhaps[0]
	if !slices.ContainsFunc(r.edits, a.of.holds) {
		return nil // it stands in a WITH query now, see queryBound
	}
	ask := r.question(a.few, r.edits, false)
	if ask != nil {
		r.edits, r.reason = a.of.with(a.edits, r.edits), a.reason
	}
	return ask
}

// addedUp returns the edits of a block whose aggregates add base values and slots up separately, and the reason; nil
// where it has another form, or candidates leave so few rows that it is not worth while.
func (w *walkedBlock) addedUp(r *reader) (edits []edit, reason string) {
	if w == nil {
		return nil, ""
	}
	if edits, ok := r.sums(w); ok {
		return edits, "a sum over the table: base values and slots are summed separately"
	}
	if edits, ok := r.groupSums(w); ok {
		return edits, "sums by group: base values and slots are summed separately"
	}
	if _, estimates := r.d.(EstimatingDialect); estimates && w.narrowed(r) {
		return nil, "" // see estimate
	}
	if edits, ok := r.differences(w); ok {
		return edits, "aggregates of base values, and the difference that slots make"
	}
	return nil, ""
}

// addable reports whether a query reads one table alone, and nothing else stands for its counters than their totals.
func (r *reader) addable(q *Select) bool {
	return !r.found.wholeRow && len(r.derived) == 0 && r.mistyped(nil) == "" && !strings.Contains(r.src.sql, markerByte) && ofOneTable(q)
}

// independent reports whether a block names nothing but columns of its own source, so that it has the same rows wherever it
// stands.
func (r *reader) independent(w *walkedBlock) bool {
	c := candidates{reader: r, q: w.q, sc: w.sc, b: w.sc.bindings[0], lone: true}
	list := slices.Concat([]*Expr{w.q.Where}, w.q.Limit)
	for _, it := range w.q.Items {
		list = append(list, it.Expr)
	}
	return c.namesOwn(list, false) && c.namesOwn(slices.Concat(w.q.GroupBy, []*Expr{w.q.Having}, w.q.OrderBy), true)
}

// namesOwn reports whether expressions name only columns of the source or, as GROUP BY and what follows it may, items.
func (c *candidates) namesOwn(list []*Expr, items bool) bool {
	ok := true
	for _, e := range list {
		if e == nil {
			continue
		}
		e.Walk(func(x *Expr) bool {
			switch x.Kind {
			case ColumnRef:
				ok = ok && (c.ownColumn(x.Name) || items && c.isItem(x.Name))
			case Subquery, Excluded:
				ok = false
			}
			return ok
		})
	}
	return ok
}

// isItem reports whether a name is the alias of an item.
func (c *candidates) isItem(name []Ident) bool {
	return len(name) == 1 && slices.ContainsFunc(c.q.Items, func(it Item) bool { return it.Alias != nil && c.sameLabel(name[0], *it.Alias) })
}

// endsBlock reports whether a block ends before a token.
func (s *source) endsBlock(i int) bool {
	return i >= len(s.tokens) || s.is(i, ";") || s.is(i, ")") || s.is(i, "UNION") || s.is(i, "INTERSECT") || s.is(i, "EXCEPT")
}
