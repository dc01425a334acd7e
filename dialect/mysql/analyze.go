package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// MariaDB explains with ANALYZE [FORMAT=JSON] statement, which runs the
// statement, and with EXPLAIN EXTENDED | PARTITIONS, none of which the parser
// knows. ANALYZE is as long as EXPLAIN and is read as it; the other words are
// blanked out.

// parseAnalyze reads such a statement; nil when the statement is none.
func (d *Dialect) parseAnalyze(text string, toks []rewrite.Token) (*rewrite.Statement, error) {
	if len(toks) < 2 {
		return nil, nil
	}
	blanked := ""
	runs := word(text, toks, 0, "ANALYZE")
	switch {
	case runs && word(text, toks, 1, "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "FORMAT", "VALUES"),
		runs && is(text, toks, 1, "("):
		blanked = text[:toks[0].Start] + "EXPLAIN" + text[toks[0].End:]
	case word(text, toks, 0, "EXPLAIN", "DESCRIBE", "DESC") && word(text, toks, 1, "EXTENDED", "PARTITIONS") &&
		len(toks) > 2 && word(text, toks, 2, "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE"):
		blanked = text[:toks[1].Start] + strings.Repeat(" ", toks[1].End-toks[1].Start) + text[toks[1].End:]
	default:
		return nil, nil
	}
	rest, err := d.lex(blanked)
	if err != nil {
		return nil, err
	}
	st, err := d.parseTokens(blanked, rest)
	if err != nil {
		return nil, err
	}
	st.Runs = runs
	return st, nil
}
