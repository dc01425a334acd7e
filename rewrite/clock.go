package rewrite

import (
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file knows the expressions that applications give for the time of an
// upsert: CURRENT_DATE for the day of a count, NOW() for created_at. They read
// nothing, cannot fail, and are a time that is not NULL and near enough for
// every column.

var clocks = map[string]bool{
	"now":                   true,
	"current_timestamp":     true,
	"current_timestamp_n":   true,
	"localtimestamp":        true,
	"localtimestamp_n":      true,
	"localtime":             true,
	"current_date":          true,
	"curdate":               true,
	"utc_timestamp":         true,
	"utc_date":              true,
	"sysdate":               true,
	"transaction_timestamp": true,
	"statement_timestamp":   true,
	"clock_timestamp":       true,
}

var (
	truncUnit = regexp.MustCompile(`^(?i)(second|minute|hour|day|week|month|quarter|year)$`)
	interval  = regexp.MustCompile(`^(?i)[+-]?\d{1,4} (sec|second|min|minute|hour|day|week|month)s?$`)
	modifier  = regexp.MustCompile(`^(?i)([+-]?\d{1,4} (second|minute|hour|day|month)s?|start of (day|month|year)|localtime|utc)$`)
	smallInt  = regexp.MustCompile(`^\d{1,4}$`)
	shiftUnit = regexp.MustCompile(`(?i)\b(second|minute|hour|day|week|month)\b`)
)

// clockTime reports whether e is such an expression; shifted, that it adds an
// interval.
func (cs *constants) clockTime(e *ast.Expr) (ok, shifted bool) {
	if e == nil {
		return false, false
	}
	e = ast.Unparen(e)
	is := func(i int) bool {
		var s bool
		ok, s = cs.clockTime(e.Args[i])
		shifted = shifted || s
		return ok
	}
	literal := func(i int, re *regexp.Regexp) bool {
		a := ast.Unparen(e.Args[i])
		return a.Kind == ast.String && re.MatchString(cs.noted(a.Text))
	}
	text := func(x *ast.Expr) string { return cs.noted(cs.src.sql[x.Start:x.End]) }
	switch {
	case e.Kind == ast.Binary && (e.Op == "+" || e.Op == "-") && len(e.Args) == 2:
		r := ast.Unparen(e.Args[1])
		is(0)
		shifted = true
		return ok && r.Kind == ast.Opaque && r.Op == "cast" && len(r.Args) == 1 && lex.ContainsFold(text(r), "interval") &&
			ast.Unparen(r.Args[0]).Kind == ast.String && interval.MatchString(cs.noted(ast.Unparen(r.Args[0]).Text)), shifted
	case e.Kind != ast.Opaque && e.Kind != ast.Call:
		return false, false
	case len(e.Args) == 0:
		return clocks[e.Op] || e.Op == "" && strings.HasPrefix(strings.ToLower(text(e)), "current_"), false
	case len(e.Args) == 1 && clocks[e.Op]:
		return ast.Unparen(e.Args[0]).Kind == ast.Number, false
	case cs.d.Traits().AnyType && (e.Op == "date" || e.Op == "datetime"):
		for i := range e.Args {
			if re := modifier; i > 0 && !literal(i, re) ||
				i == 0 && !(ast.Unparen(e.Args[0]).Kind == ast.String && strings.EqualFold(cs.noted(ast.Unparen(e.Args[0]).Text), "now")) {
				return false, false
			}
		}
		return true, len(e.Args) > 1
	case (e.Op == "date" || e.Op == "cast" && cs.d.Traits().TypedConstants) && len(e.Args) == 1:
		return is(0), shifted
	case e.Op == "date_trunc" && len(e.Args) == 2:
		return literal(0, truncUnit) && is(1), shifted
	case e.Op == "timezone" && len(e.Args) == 2:
		a := ast.Unparen(e.Args[0])
		return a.Kind == ast.String && strings.EqualFold(cs.noted(a.Text), "UTC") && is(1), shifted
	case e.Op == "to_timestamp" && len(e.Args) == 1:
		a := ast.Unparen(e.Args[0])
		s := text(a)
		return a.Kind == ast.Number && len(s) <= 10 && strings.Trim(s, "0123456789") == "", false
	case (e.Op == "INTERVAL" || e.Op == "date_add" || e.Op == "date_sub") && len(e.Args) == 2:
		n := ast.Unparen(e.Args[1])
		return is(0) && n.Kind == ast.Number && smallInt.MatchString(text(n)) && shiftUnit.MatchString(cs.noted(cs.src.sql[n.End:e.End])), true
	}
	return false, false
}
