package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// MariaDB explains with ANALYZE [FORMAT=JSON] statement, which runs the
// statement, and with EXPLAIN EXTENDED | PARTITIONS, none of which the parser
// knows. ANALYZE is as long as EXPLAIN and is read as it; the other words are
// blanked out.

// parseAnalyze reads such a statement; nil when the statement is none.
func (d *Dialect) parseAnalyze(sql string, toks []lex.Token) (*ast.Statement, error) {
	if len(toks) < 2 {
		return nil, nil
	}
	blanked := ""
	runs := word(sql, toks, 0, "ANALYZE")
	switch {
	case runs && word(sql, toks, 1, "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "FORMAT", "VALUES"),
		runs && is(sql, toks, 1, "("):
		blanked = sql[:toks[0].Start] + "EXPLAIN" + sql[toks[0].End:]
	case word(sql, toks, 0, "EXPLAIN", "DESCRIBE", "DESC") && word(sql, toks, 1, "EXTENDED", "PARTITIONS") &&
		len(toks) > 2 && word(sql, toks, 2, "SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE"):
		blanked = sql[:toks[1].Start] + strings.Repeat(" ", toks[1].End-toks[1].Start) + sql[toks[1].End:]
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
