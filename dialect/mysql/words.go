package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// The parser is one of MySQL 8, which reserves words that MariaDB does not: rank, groups,
// last_value and others are columns, tables and aliases of applications that never had a
// reason to quote them. Where the parser rejects a statement, it is given another one of
// the same length, in which a name of no meaning stands in for each such word. The
// translator follows the original.

// mariaDBNames are the words that MariaDB takes as names where the parser does not; true:
// also in front of a parenthesis, as no function has the name.
var mariaDBNames = map[string]bool{
	"array": true, "generated": true, "groups": true, "option": true, "stored": true, "until": true, "virtual": true, "window": true,
	"cume_dist": false, "database": false, "dense_rank": false, "first_value": false, "lag": false, "last_value": false, "lead": false,
	"nth_value": false, "ntile": false, "percent_rank": false, "rank": false, "row": false, "schema": false,
}

// unreserved writes the statement with stand-ins for words that the parser reserves, and returns the words by them; none, if it
// has no such words. A word that is a keyword where it stands makes a statement that the
// parser rejects too.
func unreserved(sql string, toks []lex.Token) (string, map[string]string) {
	var b strings.Builder
	var words map[string]string
	at := 0
	for i, t := range toks {
		if t.Kind != lex.Word {
			continue
		}
		text := sql[t.Start:t.End]
		noFunction, listed := mariaDBNames[strings.ToLower(text)]
		if !listed || !noFunction && is(sql, toks, i+1, "(") && !(i > 0 && word(sql, toks, i-1, "INTO")) {
			continue
		}
		name := text[:len(text)-1] + "$"
		if words[name] == "" && strings.Contains(sql, name) {
			return sql, nil
		}
		if words == nil {
			words = map[string]string{}
		}
		words[name] = text
		b.WriteString(sql[at:t.Start] + name)
		at = t.End
	}
	return b.String() + sql[at:], words
}

// own returns the word of the statement that the parser's name stands in for.
func (t *translator) own(name string) string {
	if word, ok := t.words[name]; ok {
		return word
	}
	return name
}

func word(sql string, toks []lex.Token, i int, words ...string) bool {
	if i >= len(toks) || toks[i].Kind != lex.Word {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(sql[toks[i].Start:toks[i].End], w) {
			return true
		}
	}
	return false
}

func is(sql string, toks []lex.Token, i int, op string) bool {
	return i < len(toks) && toks[i].Kind == lex.Operator && sql[toks[i].Start:toks[i].End] == op
}
