package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// routineQuery reads the bodies that are kept as text, and the rules. (The body of BEGIN ATOMIC is not.)
const routineQuery = `
SELECT CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, CAST(CAST(p.oid AS pg_catalog.regprocedure) AS text),
  pg_catalog.pg_get_functiondef(p.oid), p.prosrc, CAST(l.lanname AS text), CAST(pg_catalog.to_json(p.proargnames) AS text),
  (SELECT CAST(pg_catalog.json_agg(pg_catalog.json_build_object('Trigger', t.tgname, 'Table', c.relname) ORDER BY t.oid) AS text)
    FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid WHERE t.tgfoid = p.oid AND t.tgparentid = 0)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND l.lanname IN ('plpgsql', 'sql') AND p.prokind IN ('f', 'p') AND p.prosrc <> ''
UNION ALL
SELECT 'rule', pg_catalog.concat(r.rulename, ' on ', CAST(r.ev_class AS pg_catalog.regclass)), pg_catalog.pg_get_ruledef(r.oid), '', 'sql', NULL,
  CAST(pg_catalog.json_build_array(pg_catalog.json_build_object('Trigger', r.rulename, 'Table', c.relname)) AS text)
FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND r.ev_type <> '1'
ORDER BY 1, 2`

// Routines implements dialect.FunctionWriter.
func (stored) Routines(ctx context.Context, s dialect.Session, names []string) (out []dialect.Routine, err error) {
	rows, err := s.Query(ctx, routineQuery)
	if err != nil {
		return nil, fmt.Errorf("postgres: reading functions and rules: %w", err)
	}
	for _, row := range rows {
		definition := dialect.String(row[2])
		named := false
		for _, t := range names {
			named = named || lex.ContainsFold(definition, lex.Spelled(t))
		}
		if !named {
			continue
		}
		r := dialect.Routine{
			Kind: dialect.String(row[0]), Name: dialect.String(row[1]), Body: dialect.String(row[3]), Language: dialect.String(row[4]),
		}
		_ = json.Unmarshal([]byte(dialect.String(row[5])), &r.Parameters) // a trigger function has none
		_ = json.Unmarshal([]byte(dialect.String(row[6])), &r.Fired)      // what is only called has none
		if r.Kind == "rule" {
			_, r.Body, _ = strings.Cut(definition, " DO ")
			r.Body = strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(r.Body, " ALSO ")), "(")
			r.Fixed = "a rule returns the rows of a call to whoever writes to the table: make it a trigger"
			out = append(out, r)
			continue
		}
		if strings.Contains(r.Body, "#variable_conflict") {
			r.Fixed = "#variable_conflict changes what its names mean"
		}
		r.Before, r.After, _ = strings.Cut(definition, r.Body)
		out = append(out, r)
	}
	return out, nil
}

// Counted implements dialect.FunctionWriter. PERFORM would run a query of its own, which takes a tenth longer.
func (stored) Counted(r *dialect.Routine, function string, arguments []dialect.Argument) string {
	var list []string
	for _, a := range arguments {
		switch {
		case a.Key:
			list = append(list, a.SQL)
		case a.SQL != "":
			list = append(list, quote(a.Name)+" => "+a.SQL)
		}
	}
	call := function + "(" + strings.Join(list, ", ") + ")"
	if r.Language == "sql" {
		return "SELECT " + call
	}
	return "IF " + call + " IS NULL THEN END IF"
}
