// Package postgres is the PostgreSQL dialect: it translates PostgreSQL's
// grammar into the planner's neutral statement, and writes slotsql's own
// statements in PostgreSQL's SQL. It serves servers from version 13 on and
// imports no driver.
package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var _ dialect.Dialect = (*Dialect)(nil)

// Dialect is PostgreSQL. It holds no state and is safe for concurrent use.
type Dialect struct{}

// New returns the PostgreSQL dialect.
func New() *Dialect { return &Dialect{} }

// Name is "postgres".
func (*Dialect) Name() string { return "postgres" }

// NameRules implements dialect.Dialect.
func (*Dialect) NameRules() dialect.NameRules { return dialect.NameRules{Bytes: 63} }

var lexRules = lex.Rules{
	NestedComment:  true,
	ReturnEndsLine: true,
	EString:        true,
	DollarString:   true,
	DollarParam:    true,
	SelectInto:     true,
}

// LexRules returns PostgreSQL's lexical rules, with standard_conforming_strings
// on as it has been by default since version 9.1.
func (*Dialect) LexRules() *lex.Rules { return &lexRules }

// maxIdent is the longest identifier in bytes (NAMEDATALEN - 1).
const maxIdent = 63

// truncate cuts a name as the server does: at 63 bytes, between characters.
func truncate(name string) string {
	if len(name) <= maxIdent {
		return name
	}
	n := maxIdent
	for n > 0 && !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n]
}

// fold is what the server stores for a name written without quotes: ASCII
// letters in lower case, everything else as it is in a UTF-8 database.
func fold(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] >= 'A' && name[i] <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}

func same(written ast.Ident, stored string) bool {
	name := written.Name
	if !written.Quoted {
		name = fold(name)
	}
	return truncate(name) == stored
}

// SameTable reports whether a table name as written is that stored name.
func (*Dialect) SameTable(written ast.Ident, stored string) bool { return same(written, stored) }

// SameColumn reports whether a column name as written is that stored name.
func (*Dialect) SameColumn(written ast.Ident, stored string) bool { return same(written, stored) }

// Quote writes a stored name in double quotes.
func (*Dialect) Quote(name string) string { return quote(name) }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Placeholder writes $n.
func (*Dialect) Placeholder(n int) string { return "$" + strconv.Itoa(n) }
