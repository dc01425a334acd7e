package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// referred returns the tables that CREATE TABLE refers to by a counter. Rows of the new table
// are held against base values, so these have to be the totals before there are any.
// (ALTER drains what it names anyway.)
func (df *definitions) referred() (out []*schema.Table) {
	if !df.src.is(0, "CREATE") {
		return nil
	}
	for i := range df.src.tokens {
		if !df.src.is(i, "REFERENCES") {
			continue
		}
		at := i + 1 // of the last part of the table's name
		for df.src.is(at+1, ".") {
			at += 2
		}
		if !df.src.is(at+1, "(") {
			continue // the primary key
		}
		for _, t := range df.mentions.tables() {
			if df.mentions.tokenNames(df.src.tokens[at], t.Name) && !slices.Contains(out, t) && df.listsCounter(at+2, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// listsCounter reports whether a list in parentheses has a counter of t in it.
func (df *definitions) listsCounter(at int, t *schema.Table) bool {
	for ; at < len(df.src.tokens) && !df.src.is(at, ")"); at++ {
		name := df.src.unquoted(df.src.tokens[at])
		for i := range t.Columns {
			if c := t.Columns[i].Name; t.IsCounter(c) && strings.EqualFold(c, name) {
				return true
			}
		}
	}
	return false
}
