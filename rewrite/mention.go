package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// mentions finds the tables whose names occur in a statement.
type mentions struct {
	d         Dialect
	src       *source
	catalog   names.Catalog
	sentinels *sentinels
}

// Mentions reports whether any counter table's name occurs in the statement, in any
// letter case and anywhere, also inside strings and comments: a name that is
// not there cannot be meant. Identifiers written with escapes are taken as a
// mention.
func (pl *Planner) Mentions(sql string) bool {
	for _, tables := range [][]*schema.Table{pl.Catalog.Counters(), holders(pl.Catalog)} {
		for _, t := range tables {
			if lex.ContainsFold(sql, lex.Spelled(t.Name)) {
				return true
			}
		}
	}
	for _, v := range views(pl.Catalog) {
		if lex.ContainsFold(sql, lex.Spelled(v.Name)) {
			return true
		}
	}
	return lex.EscapedNames(pl.Dialect.LexRules(), sql)
}

// mentioned returns the counter tables whose name occurs as an identifier, or
// inside a string (dynamic SQL).
func (mt *mentions) tables() []*schema.Table {
	out := mt.among(mt.catalog.Counters())
	viewed, _ := mt.viewed()
	for _, t := range viewed {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// named returns those of the tables whose names occur.
func (mt *mentions) among(tables []*schema.Table) []*schema.Table {
	var out []*schema.Table
	for _, t := range tables {
		if mt.src.large {
			if lex.ContainsFold(mt.src.sql, lex.Spelled(t.Name)) || lex.EscapedNames(mt.d.LexRules(), mt.src.sql) {
				out = append(out, t)
			}
			continue
		}
		for _, tok := range mt.src.tokens {
			if mt.tokenNames(tok, t.Name) {
				out = append(out, t)
				break
			}
		}
		if lex.IsDigit(t.Name[0]) {
			mt.sentinels.noted(mt.src.sql)
		}
		// MySQL takes 2fa for a name where the scanner sees a number first.
		if (mt.src.exec || lex.IsDigit(t.Name[0])) && (len(out) == 0 || out[len(out)-1] != t) &&
			lex.ContainsFold(mt.src.sql, lex.Spelled(t.Name)) {
			out = append(out, t)
		}
	}
	return out
}

func (mt *mentions) tokenNames(tok lex.Token, name string) bool {
	s := mt.src.sql[tok.Start:tok.End]
	switch tok.Kind {
	case lex.Word:
		return lex.Spells(s, name)
	case lex.QuotedIdent:
		// A name with a quote or an escape in it is spelled otherwise than it is
		// stored. Any other one is the table's or not: `user_id` is no user.
		if inner := s[1 : len(s)-1]; s[len(s)-1] == closing(s[0]) && !strings.ContainsAny(inner, "\"`") &&
			!strings.ContainsAny(name, "\"`'") {
			return lex.Spells(inner, name)
		}
		fallthrough
	case lex.String, lex.Bad:
		if strings.ContainsAny(name, "\"`'") {
			mt.sentinels.noted(s)
		}
		return lex.ContainsFold(s, name) || len(s) > 2 && (s[0] == 'U' || s[0] == 'u') && s[1] == '&' ||
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

func tableNames(tables []*schema.Table) []string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i] = t.Name
	}
	return out
}
