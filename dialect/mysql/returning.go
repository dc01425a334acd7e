package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// MariaDB's INSERT, REPLACE and DELETE take RETURNING, which the parser does
// not know. The clause is the last one of its statement and a select list, so
// it is cut off and read as one.

// returning finds the RETURNING of a statement that may have one, or 0.
func returning(sql string, toks []lex.Token) int {
	word := func(i int) string {
		if toks[i].Kind != lex.Word {
			return ""
		}
		return strings.ToUpper(sql[toks[i].Start:toks[i].End])
	}
	if len(toks) == 0 {
		return 0
	}
	switch word(0) {
	case "INSERT", "REPLACE", "DELETE":
	default:
		return 0
	}
	depth, found := 0, 0
	for i, t := range toks {
		switch {
		case t.Kind == lex.Operator && sql[t.Start] == '(':
			depth++
		case t.Kind == lex.Operator && sql[t.Start] == ')':
			depth--
		case depth == 0 && word(i) == "RETURNING":
			found = i
		}
	}
	return found
}

// parseReturning reads a statement in two parts, each at its own place in a
// text of blanks, so that all offsets are the original SQL's.
func (d *Dialect) parseReturning(sql string, toks []lex.Token, i int) (*ast.Statement, error) {
	at := toks[i]
	st, err := d.parseTokens(sql[:at.Start], toks[:i])
	if err != nil {
		return nil, err
	}
	list := strings.Repeat(" ", at.Start) + "SELECT" + strings.Repeat(" ", at.End-at.Start-len("SELECT")) + sql[at.End:]
	listToks, err := d.lex(list)
	if err != nil {
		return nil, err
	}
	sel, err := d.parseTokens(list, listToks)
	switch {
	case err != nil:
		return nil, err
	case sel.Opaque != "":
		st.Opaque = sel.Opaque
	case sel.Select == nil || len(sel.Select.From) > 0 || len(sel.Select.Items) == 0 || len(st.Returning) > 0:
		return nil, fmt.Errorf("RETURNING is not followed by a select list")
	default:
		st.Returning = sel.Select.Items
	}
	return st, nil
}
