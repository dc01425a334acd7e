package rewrite

import "strings"

// maxName is the number of bytes at which PostgreSQL cuts a name as written to
// the name that it stores.
const maxName = 63

// Spelled returns a piece of a stored name that stands, but for letter case,
// in every statement that names it in quotes or not: a quote inside a name is
// written twice, so the piece is the longest one without quotes. It may be
// empty.
func Spelled(name string) string {
	longest := ""
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return r == '"' || r == '`' || r == '\'' }) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// spells reports whether an unquoted word may be the stored name.
func spells(word, name string) bool {
	return strings.EqualFold(word, name) ||
		len(name) >= maxName-utf8Tail && len(word) > len(name) && strings.EqualFold(word[:len(name)], name)
}

// utf8Tail is how much shorter than maxName a name may be cut, so that no
// character is.
const utf8Tail = 3

// Mentions reports whether any counter table's name occurs in the statement, in any
// letter case and anywhere, also inside strings and comments: a name that is
// not there cannot be meant. Identifiers written with escapes are taken as a
// mention.
func (pl *Planner) Mentions(sql string) bool {
	for _, tables := range [][]*Table{pl.Catalog.Counters(), pl.holders()} {
		for _, t := range tables {
			if containsFold(sql, Spelled(t.Name)) {
				return true
			}
		}
	}
	for _, v := range pl.views() {
		if containsFold(sql, Spelled(v.Name)) {
			return true
		}
	}
	return EscapedNames(pl.Dialect.Lexis(), sql)
}

// mentioned returns the counter tables whose name occurs as an identifier, or
// inside a string (dynamic SQL).
func (p *planning) mentioned() []*Table {
	out := p.named(p.Catalog.Counters())
	viewed, _ := p.viewed()
	for _, t := range viewed {
		if !has(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// named returns those of the tables whose names occur.
func (p *planning) named(tables []*Table) []*Table {
	var out []*Table
	for _, t := range tables {
		if p.src.large {
			if containsFold(p.src.sql, Spelled(t.Name)) || EscapedNames(p.d.Lexis(), p.src.sql) {
				out = append(out, t)
			}
			continue
		}
		for _, tok := range p.src.tokens {
			if p.tokenNames(tok, t.Name) {
				out = append(out, t)
				break
			}
		}
		if isDigit(t.Name[0]) {
			p.noted(p.src.sql)
		}
		// MySQL takes 2fa for a name where the scanner sees a number first.
		if (p.src.exec || isDigit(t.Name[0])) && (len(out) == 0 || out[len(out)-1] != t) && containsFold(p.src.sql, Spelled(t.Name)) {
			out = append(out, t)
		}
	}
	return out
}

func has(tables []*Table, t *Table) bool {
	for _, x := range tables {
		if x == t {
			return true
		}
	}
	return false
}

func (p *planning) tokenNames(tok Token, name string) bool {
	s := p.src.sql[tok.Start:tok.End]
	switch tok.Kind {
	case Word:
		return spells(s, name)
	case QuotedIdent:
		// A name with a quote or an escape in it is spelled otherwise than it is
		// stored. Any other one is the table's or not: `user_id` is no user.
		if inner := s[1 : len(s)-1]; s[len(s)-1] == closing(s[0]) && !strings.ContainsAny(inner, "\"`") &&
			!strings.ContainsAny(name, "\"`'") {
			return spells(inner, name)
		}
		fallthrough
	case StringTok, Bad:
		if strings.ContainsAny(name, "\"`'") {
			p.noted(s)
		}
		return containsFold(s, name) || len(s) > 2 && (s[0] == 'U' || s[0] == 'u') && s[1] == '&' ||
			strings.ContainsAny(name, "\"`'") && len(s) > len(name)
	}
	return false
}

// closing is the byte that ends a name in quotes that begins with this one; 0
// for U&"..." and whatever else begins with none.
func closing(open byte) byte {
	switch open {
	case '"', '`':
		return open
	case '[':
		return ']'
	}
	return 0
}

func names(tables []*Table) []string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i] = t.Name
	}
	return out
}
