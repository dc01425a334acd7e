package mysql

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// information_schema.TRIGGERS leaves out the triggers of tables on which the account lacks the
// privilege TRIGGER, and nothing but SHOW GRANTS tells whether it has that by a role that is
// enabled, by PUBLIC, or on databases named by a pattern.

// assumeTriggers has the tables whose triggers the account may not see count as having some,
// unless it may write no column, and fires none.
func assumeTriggers(ctx context.Context, s dialect.Session, srv standing, tables []*schema.Table) error {
	writes := func(c schema.Column) bool { return !c.Denied.Insert || !c.Denied.Update }
	var silent []*schema.Table
	for _, t := range tables {
		if t == nil || t.IsView || t.Temporary || t.Triggers.Insert || t.Triggers.Update || t.Triggers.Delete {
			continue
		}
		if slices.ContainsFunc(t.Columns, writes) {
			silent = append(silent, t)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	held, err := triggerGrantsOf(ctx, s, srv)
	if err != nil {
		return err
	}
	account := ""
	for _, t := range silent {
		if held.on(t) {
			continue
		}
		if account == "" {
			if account, err = accountOf(ctx, s); err != nil {
				return err
			}
		}
		t.Triggers.Insert, t.Triggers.Update, t.Triggers.Delete = true, true, true
		t.Triggers.Unseen = "the session's user may not see the table's triggers, and one may fire on UPDATE: GRANT TRIGGER ON " + baseTable(t) +
			" TO " + account
	}
	return nil
}

// triggerGrant is a line of SHOW GRANTS: where it grants or revokes privileges, and whether TRIGGER is one of them.
type triggerGrant struct {
	schema, table string         // "*" for all
	matches       *regexp.Regexp // the databases that a schema with all its tables is a pattern of
	trigger       bool
	revokes       bool // a part of what is granted on all schemas (MySQL's partial_revokes)
}

// triggerGrants are those of the account, its enabled roles and PUBLIC.
type triggerGrants struct {
	lines []triggerGrant
	folds bool // names compare in any letter case
	all   bool // the server checks no privileges
}

func triggerGrantsOf(ctx context.Context, s dialect.Session, srv standing) (*triggerGrants, error) {
	g := &triggerGrants{folds: srv.folds}
	rows, err := s.Query(ctx, "SHOW GRANTS")
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "Error 1290"): // ER_OPTION_PREVENTS_STATEMENT: skip-grant-tables
		g.all = true
	case strings.Contains(err.Error(), "Error 1141"): // ER_NONEXISTING_GRANT: the account has been dropped
	default:
		return nil, fmt.Errorf("reading the session's privileges: %w", err)
	}
	patterns := false
	for _, r := range rows {
		if line, ok := triggerGrantIn(dialect.String(r[0])); ok {
			g.lines = append(g.lines, line)
			patterns = patterns || line.trigger && line.table == "*" && strings.ContainsAny(line.schema, "%_")
		}
	}
	literal := false
	if patterns && !srv.mariaDB {
		if rows, err = s.Query(ctx, "SHOW VARIABLES LIKE 'partial_revokes'"); err != nil {
			return nil, fmt.Errorf("reading partial_revokes: %w", err)
		}
		literal = len(rows) > 0 && strings.EqualFold(dialect.String(rows[0][1]), "ON")
	}
	for i := range g.lines {
		if l := &g.lines[i]; l.table == "*" && l.schema != "*" {
			l.matches = databasePattern(l.schema, g.folds, literal)
		}
	}
	return g, nil
}

// triggerGrantIn reads GRANT privileges ON object TO account, and REVOKE likewise. What grants a role, or something on
// anything but tables, is not ok.
func triggerGrantIn(line string) (g triggerGrant, ok bool) {
	tokens := lex.Tokens(&lexRules, line)
	at := func(i int) string { return line[tokens[i].Start:tokens[i].End] }
	depth := 0 // in a list of columns
	for i := range tokens {
		switch word := at(i); {
		case word == "(":
			depth++
		case word == ")":
			depth--
		case depth > 0 || tokens[i].Kind != lex.Word:
		case word == "REVOKE":
			g.revokes = true
		case word == "TRIGGER" || word == "ALL":
			g.trigger = true
		case word == "ON":
			if i+3 >= len(tokens) || at(i+2) != "." {
				return g, false
			}
			g.schema, g.table = nameIn(at(i+1)), nameIn(at(i+3))
			return g, true
		}
	}
	return g, false
}

// nameIn takes a name out of its quotes.
func nameIn(token string) string {
	if q := token[:1]; q == "`" || q == `"` {
		return strings.ReplaceAll(token[1:len(token)-1], q+q, q)
	}
	return token
}

var patternPart = regexp.MustCompile(`(?s)\\.|.`)

// databasePattern matches the databases that a grant on a database names: with wildcards, unless they are literal.
func databasePattern(name string, folds, literal bool) *regexp.Regexp {
	expr := patternPart.ReplaceAllStringFunc(name, func(part string) string {
		switch {
		case part == "%" && !literal:
			return ".*"
		case part == "_" && !literal:
			return "."
		case len(part) > 1 && part[0] == '\\':
			part = part[1:]
		}
		return regexp.QuoteMeta(part)
	})
	flags := "(?s)"
	if folds {
		flags = "(?si)"
	}
	return regexp.MustCompile(flags + "^" + expr + "$")
}

// on reports whether the account has the privilege TRIGGER on a table. Of the patterns that a database matches only the
// most specific one counts, so each has to grant it.
func (g *triggerGrants) on(t *schema.Table) bool {
	same := func(a, b string) bool { return a == b || g.folds && strings.EqualFold(a, b) }
	everywhere, byPattern := g.all, map[string]bool{}
	for _, l := range g.lines {
		switch {
		case l.schema == "*":
			everywhere = everywhere || l.trigger
		case l.matches == nil:
			if l.trigger && same(l.schema, t.Schema) && same(l.table, t.Name) {
				return true
			}
		case !l.matches.MatchString(t.Schema):
		case l.revokes && l.trigger:
			everywhere = false // these lines come after those that grant
		case !l.revokes:
			byPattern[l.schema] = byPattern[l.schema] || l.trigger
		}
	}
	granted := slices.Collect(maps.Values(byPattern))
	return everywhere || len(granted) > 0 && !slices.Contains(granted, false)
}
