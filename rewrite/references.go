package rewrite

import "strings"

// referred returns the tables that CREATE TABLE refers to by a counter. Rows of the new table
// are held against base values, so these have to be the totals before there are any.
// (ALTER drains what it names anyway.)
func (p *planning) referred() (out []*Table) {
	if !p.src.is(0, "CREATE") {
		return nil
	}
	for i := range p.src.tokens {
		if !p.src.is(i, "REFERENCES") {
			continue
		}
		at := i + 1 // of the last part of the table's name
		for p.src.is(at+1, ".") {
			at += 2
		}
		if !p.src.is(at+1, "(") {
			continue // the primary key
		}
		for _, t := range p.mentioned() {
			if p.tokenNames(p.src.tokens[at], t.Name) && !has(out, t) && p.listsCounter(at+2, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// listsCounter reports whether a list in parentheses has a counter of t in it.
func (p *planning) listsCounter(at int, t *Table) bool {
	for ; at < len(p.src.tokens) && !p.src.is(at, ")"); at++ {
		name := p.src.unquoted(p.src.tokens[at])
		for i := range t.Columns {
			if c := t.Columns[i].Name; t.IsCounter(c) && strings.EqualFold(c, name) {
				return true
			}
		}
	}
	return false
}
