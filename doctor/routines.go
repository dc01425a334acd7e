package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/upkeep"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// attribute finds the waiting statements that wait inside a trigger or routine, which has changed
// the row on their behalf. What waits is then a statement of that.
func (l *looker) attribute(ctx context.Context) {
	var tables []string
	for _, s := range l.report.Spots {
		if s.Table != "" && !slices.Contains(tables, s.Table) {
			tables = append(tables, s.Table)
		}
	}
	if len(tables) == 0 {
		return
	}
	routines, err := upkeep.Routines(ctx, l.session, l.dialect, tables)
	if err != nil {
		l.noteOnce("triggers and routines cannot be read: " + err.Error())
	}
	for _, s := range l.report.Spots {
		for _, st := range s.Statements {
			for i := range routines {
				if inside := l.within(&routines[i], s.Table, st); len(inside) > 0 && st.By == "" {
					st.By, st.inside = routines[i].By(), inside
				}
			}
		}
	}
}

// within returns the statements of a routine by which a waiting statement may wait for a row of a table; none if it does
// not run the routine. PostgreSQL shows what the application has sent, MySQL and MariaDB the routine's own statement, with
// NAME_CONST for variables.
func (l *looker) within(r *dialect.Routine, table string, st *Statement) (out []string) {
	runs := slices.ContainsFunc(r.Fired, func(f dialect.Firing) bool {
		_, target := l.target(st.full)
		return target == f.Table && f.Table != table
	})
	name, _, _ := strings.Cut(r.Name, "(")
	runs = runs || len(r.Fired) == 0 && lex.ContainsFold(st.full, lex.Spelled(name[strings.LastIndex(name, ".")+1:]))
	for _, own := range upkeep.RoutineStatements(l.dialect, r) {
		_, target := l.target(own.SQL)
		text, sql := l.shape(own.Text), l.shape(own.SQL) // equal if an application may send the same
		shown := strings.ReplaceAll(st.SQL, "NAME_CONST(?, ...)", "?")
		if target == table && (runs || text != sql && (st.SQL == text || shown != st.SQL && shown == sql)) {
			out = append(out, own.SQL)
		}
	}
	return out
}

// planInside describes how the statements of the routine would run from the application: the first that would go to slots.
func (l *looker) planInside(e *slotsql.Explainer, st *Statement) error {
	for _, sql := range st.inside {
		x, err := e.Explain(sql)
		if err != nil {
			return err
		}
		st.planned(x)
		if fast(x.Class) {
			break
		}
	}
	return nil
}

// advice is what to do about a statement that a trigger or routine adds by; "" for any other.
func (st *Statement) advice() string {
	if st.By == "" || !fast(st.Class) {
		return ""
	}
	return st.By + " adds to the row: slotsql ddl --functions --triggers prints a function that does not wait for it, and the body with a call of that"
}
