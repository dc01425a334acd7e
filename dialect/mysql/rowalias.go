package mysql

import (
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// MySQL 8.0.19 names the row of INSERT ... VALUES (...) AS new [(m, n)] ON
// DUPLICATE KEY UPDATE c = t.c + new.c, which the parser does not know. The
// clause names columns for what follows it only, so it is blanked out, all
// offsets stay the original SQL's, and the names that it gives are read as what
// VALUES(c) is. A name that could be meant otherwise makes the statement opaque.

// rowAlias is the clause.
type rowAlias struct {
	first, last int // its tokens
	name        ast.Ident
	columns     []ast.Ident
}

// parseRowAlias reads an INSERT with the clause; nil when there is none, or
// when the server does not take it.
func (d *Dialect) parseRowAlias(sql string, toks []lex.Token) (*ast.Statement, error) {
	a := findRowAlias(sql, toks)
	if a == nil || d.NoRowAlias {
		return nil, nil
	}
	from, to := toks[a.first].Start, toks[a.last].End
	blanked := sql[:from] + strings.Repeat(" ", to-from) + sql[to:]
	rest, err := d.lex(blanked)
	if err != nil {
		return nil, err
	}
	st, err := d.parseTokens(blanked, rest)
	switch {
	case err != nil:
		return nil, err
	case st.Opaque != "":
		return st, nil
	case st.Kind != ast.KindInsert || st.Conflict == nil || st.Select != nil || len(st.Target.Name) == 0:
		return nil, fmt.Errorf("a row alias in another statement than INSERT ... VALUES")
	}
	for i := range st.Conflict.Set {
		if why := a.resolve(st, st.Conflict.Set[i].Value); why != "" {
			st.Opaque = why
		}
	}
	return st, nil
}

// findRowAlias finds AS name [(columns)] ahead of ON DUPLICATE KEY UPDATE.
func findRowAlias(sql string, toks []lex.Token) *rowAlias {
	if !word(sql, toks, 0, "INSERT") {
		return nil
	}
	depth, values, end := 0, false, 0
	for i := range toks {
		switch {
		case is(sql, toks, i, "("):
			depth++
		case is(sql, toks, i, ")"):
			depth--
		case depth > 0:
		case word(sql, toks, i, "SELECT", "TABLE", "WITH"):
			return nil // AS is a table's alias there
		case word(sql, toks, i, "VALUES", "VALUE", "SET"):
			values = true
		case values && word(sql, toks, i, "ON") && word(sql, toks, i+1, "DUPLICATE") &&
			word(sql, toks, i+2, "KEY") && word(sql, toks, i+3, "UPDATE"):
			end = i - 1
		}
		if end > 0 {
			break
		}
	}
	if end <= 0 {
		return nil
	}
	a := &rowAlias{last: end}
	at := end
	if is(sql, toks, at, ")") {
		for at--; at > 0 && !is(sql, toks, at, "("); at-- {
			if id, ok := ident(sql, toks, at); ok {
				a.columns = append([]ast.Ident{id}, a.columns...)
			} else if !is(sql, toks, at, ",") {
				return nil
			}
		}
		at--
	}
	if at < 2 || !word(sql, toks, at-1, "AS") {
		return nil
	}
	var ok bool
	if a.name, ok = ident(sql, toks, at); !ok {
		return nil
	}
	a.first = at - 1
	return a
}

// ident reads a name as the statement writes it.
func ident(sql string, toks []lex.Token, i int) (ast.Ident, bool) {
	s := sql[toks[i].Start:toks[i].End]
	switch {
	case toks[i].Kind == lex.Word:
		return ast.Ident{Name: s}, true
	case toks[i].Kind == lex.QuotedIdent && len(s) > 2:
		return ast.Ident{Name: unquote(s), Quoted: true}, true
	}
	return ast.Ident{}, false
}

// resolve turns references to the new row into what VALUES(c) is.
func (a *rowAlias) resolve(st *ast.Statement, e *ast.Expr) (why string) {
	target := st.Target.Name[len(st.Target.Name)-1]
	if strings.EqualFold(target.Name, a.name.Name) {
		return "the row alias has the table's name"
	}
	if len(a.columns) > 0 && len(a.columns) != len(st.Columns) {
		return "the row alias names other columns than the INSERT lists"
	}
	e.Walk(func(x *ast.Expr) bool {
		switch {
		case x.Kind == ast.Subquery:
			why = "a subquery may name the row alias"
		case x.Kind != ast.ColumnRef || len(x.Name) > 2:
		case len(x.Name) == 2 && strings.EqualFold(x.Name[0].Name, a.name.Name):
			column, ok := a.column(st, x.Name[1])
			if !ok {
				why = "cannot tell which column " + x.Name[1].Name + " of the row alias is"
				return false
			}
			x.Kind, x.Name = ast.Excluded, []ast.Ident{column}
		case len(x.Name) == 1:
			// The row has a column of that name too, unless it has been given
			// others.
			if len(a.columns) == 0 {
				why = "column " + x.Name[0].Name + " may be the row's or the row alias's"
			}
			for _, c := range a.columns {
				if strings.EqualFold(c.Name, x.Name[0].Name) {
					why = "column " + x.Name[0].Name + " may be the row's or the row alias's"
				}
			}
		}
		return why == ""
	})
	return why
}

// column returns the table's column that the row alias calls by that name.
func (a *rowAlias) column(st *ast.Statement, name ast.Ident) (ast.Ident, bool) {
	if len(a.columns) == 0 {
		return name, true
	}
	for i, c := range a.columns {
		if strings.EqualFold(c.Name, name.Name) {
			return st.Columns[i], true
		}
	}
	return ast.Ident{}, false
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
