package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// LeavesRows reports whether SQL only creates tables without rows, adds columns, changes what later rows have by default, or adds
// or drops indexes, none of which refuses a row that is there. On base values it does the same as on totals, and slots stay
// valid. So it runs as written, whatever is known about the tables.
func LeavesRows(d Dialect, sql string) bool {
	if len(sql) > maxPlanned || !lex.ContainsFold(sql, "TABLE") && !lex.ContainsFold(sql, "INDEX") {
		return false
	}
	src := newSource(d.LexRules(), sql)
	start, parts := 0, 0
	for i := range len(src.tokens) + 1 {
		if i < len(src.tokens) && !src.is(i, ";") {
			continue
		}
		if i > start {
			if parts++; !src.leavesRows(start, i) {
				return false
			}
		}
		start = i + 1
	}
	return parts > 0
}

var (
	// fills has the words with which a new table has rows, or is part of another one, or of a foreign key to one.
	fills = lex.WordSet(`AS SELECT TABLE VALUES UNION LIKE OF INHERITS PARTITION REFERENCES`)
	// constrains has the words with which an added column, or what else may be added, may have rows judged or computed, or has
	// every UPDATE set the column, a fold as well. KEY is one except behind ADD. Old MySQL servers have every UPDATE set
	// a TIMESTAMP.
	constrains = lex.WordSet(`CHECK UNIQUE PRIMARY KEY SERIAL REFERENCES FOREIGN CONSTRAINT EXCLUDE GENERATED AS PARTITION
		SYSTEM PERIOD ON TIMESTAMP`)
)

// leavesRows reports it of the statement from one token to another.
func (src *source) leavesRows(at, end int) bool {
	if src.bad || src.exec {
		return false
	}
	in := func(i int, words map[string]bool) bool {
		t := src.tokens[i]
		return t.Kind == lex.Word && words[strings.ToUpper(src.sql[t.Start:t.End])]
	}
	first, second := at, at+1
	switch {
	case src.is(first, "CREATE") && src.is(second, "TABLE"):
		for i := second + 1; i < end; i++ {
			if in(i, fills) {
				return false
			}
		}
		return true
	case src.is(first, "CREATE"):
		return src.is(second, "INDEX") || (src.is(second, "FULLTEXT") || src.is(second, "SPATIAL")) && src.is(second+1, "INDEX")
	case src.is(first, "DROP"):
		return src.is(second, "INDEX") && !src.is(end-1, "CASCADE")
	case !src.is(first, "ALTER") || !src.is(second, "TABLE"):
		return false
	}
	at += 2
	if src.is(at, "IF") && src.is(at+1, "EXISTS") {
		at += 2
	}
	if src.is(at, "ONLY") {
		at++
	}
	for at++; src.is(at, "."); at += 2 { // behind the table's name
	}
	return at < end && src.onlyAdds(at, end, in)
}

// altersDefault reports whether ALTER TABLE changes a column's default at a token, or lets it be NULL.
func (src *source) altersDefault(at int) bool {
	if !src.is(at, "ALTER") {
		return false
	}
	if at++; src.is(at, "COLUMN") {
		at++
	}
	at++ // behind the column's name
	drops := src.is(at, "DROP")
	return (drops || src.is(at, "SET")) && src.is(at+1, "DEFAULT") || drops && src.is(at+1, "NOT") && src.is(at+2, "NULL")
}

// onlyAdds reports whether what ALTER TABLE does, from a token on, adds columns and indexes, or changes defaults.
func (src *source) onlyAdds(at, end int, in func(int, map[string]bool) bool) bool {
	const none = -1
	depth, value := 0, none // of parentheses, and of those around a DEFAULT
	for first := at; at < end; at++ {
		t := src.tokens[at]
		switch {
		case at == first && !src.is(at, "ADD") && !src.altersDefault(at):
			return false
		case src.is(at, "("):
			depth++
		case src.is(at, ")"):
			depth--
		case src.is(at, ","):
			if depth == 0 {
				first = at + 1
			}
			if depth <= value {
				value = none
			}
		case at == first+1 && src.is(at, "KEY"):
		case in(at, constrains):
			return false
		case src.is(at, "DEFAULT"):
			value = depth
		case value != none && depth > value && (t.Kind == lex.Word || t.Kind == lex.QuotedIdent): // perhaps another column
			return false
		}
	}
	return true
}
