package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// Routines implements dialect.FunctionWriter: those of the session's database.
func (st stored) Routines(ctx context.Context, s dialect.Session, names []string) (out []dialect.Routine, err error) {
	rows, err := s.Query(ctx, "SELECT 'trigger', TRIGGER_NAME, ACTION_STATEMENT, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()"+
		" UNION ALL SELECT LOWER(ROUTINE_TYPE), ROUTINE_NAME, ROUTINE_DEFINITION, NULL FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY 1, 2")
	if err != nil {
		return nil, fmt.Errorf("mysql: reading triggers and routines: %w", err)
	}
	for _, row := range rows {
		r := dialect.Routine{Kind: dialect.String(row[0]), Name: dialect.String(row[1]), Body: dialect.String(row[2])}
		if row[3] != nil {
			r.Fired = []dialect.Firing{{Trigger: r.Name, Table: dialect.String(row[3])}}
		}
		named := false
		for _, t := range names {
			named = named || lex.ContainsFold(r.Body, lex.Spelled(t))
		}
		if !named {
			continue
		}
		kind := strings.ToUpper(r.Kind)
		shown, err := s.Query(ctx, "SHOW CREATE "+kind+" "+quote(r.Name))
		if err != nil || len(shown) != 1 || len(shown[0]) < 3 {
			return nil, fmt.Errorf("mysql: reading %s %q: %w", r.Kind, r.Name, err)
		}
		// The text of a trigger or routine ends with its body.
		create := dialect.String(shown[0][2])
		at := strings.LastIndex(create, r.Body)
		if at < 0 {
			r.Fixed = "its text may not be read"
			out = append(out, r)
			continue
		}
		r.Before = create[:at]
		r.After = create[at+len(r.Body):]
		if kind != "TRIGGER" {
			r.Parameters = parametersOf(st.d.LexRules(), r.Before)
		}
		r.Drop = "DROP " + kind + " IF EXISTS " + quote(r.Name)
		out = append(out, r)
	}
	return out, nil
}

// parametersOf finds the names in a parameter list.
func parametersOf(rules *lex.Rules, head string) (names []string) {
	depth := 0
	for _, tok := range lex.Tokens(rules, head) {
		word := head[tok.Start:tok.End]
		switch {
		case word == "(":
			depth++
		case word == ")":
			depth--
		case depth == 1 && (tok.Kind == lex.Word || tok.Kind == lex.QuotedIdent):
			names = append(names, strings.Trim(word, "`")) // types as well, which do no harm
		}
	}
	return names
}

// Counted implements dialect.FunctionWriter. DO would hide an error.
func (stored) Counted(_ *dialect.Routine, function string, arguments []dialect.Argument) string {
	var list []string
	for _, a := range arguments {
		switch {
		case a.SQL != "":
			list = append(list, a.SQL)
		case a.Companion:
			list = append(list, "NULL")
		default:
			list = append(list, "0")
		}
	}
	return "SET @slotsql_rows = " + function + "(" + strings.Join(list, ", ") + ")"
}
