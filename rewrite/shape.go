package rewrite

// shape writes the original query with LIMIT 0, which an engine answers from
// the types of its expressions without reading a row; nil when the place of
// its LIMIT is not plain.
func (p *planning) shape(q *Select) *Bound {
	src := p.src
	end := len(src.text)
	// A LIMIT in parentheses at the end is part of what another one limits.
	inside := src.is(len(src.tokens)-1, ")")
	if n := len(q.Operands); n > 0 && len(q.Operands[n-1].Limit) > 0 && !inside {
		return nil
	}
	var tp template
	if len(q.Limit) == 0 || inside {
		b := tp.expand(p.d, tp.mark(src.cut(Span{0, end}))+"\nLIMIT 0")
		return &b
	}
	first := q.Limit[0].Start
	for _, e := range q.Limit {
		first = min(first, e.Start)
	}
	for i, t := range src.tokens {
		if t.Start != first {
			continue
		}
		if !src.is(i-1, "LIMIT") {
			return nil
		}
		b := tp.expand(p.d, tp.mark(src.cut(Span{0, src.tokens[i-1].Start}))+"LIMIT 0")
		return &b
	}
	return nil
}
