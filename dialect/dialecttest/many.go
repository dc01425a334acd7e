package dialecttest

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// addsMany holds that a statement for many rows adds to each of them or to none: to none when one is
// missing, when its counter would leave its range, and when another session has it locked. It does
// not wait for a lock.
func (o Options) addsMany(t *testing.T) {
	all := o.sessions(t, 2)
	s, other := all[0], all[1]
	d, ok := s.Dialect.(rewrite.ManyRowsDialect)
	if !ok {
		return
	}
	tab := s.slotted(layouts["dedicated"])
	many := func(column, keys, deltas, rows string) string {
		return d.AddToRows(tab, rewrite.ManyRowsSQL{
			Columns: []string{"'{" + keys + "}'", "'{" + deltas + "}'"}, JSON: "'[" + rows + "]'", Count: "2", Deltas: []string{column},
		})
	}
	both := many("views", "1,2", "5,6", "[1,5],[2,6]")
	if both == "" {
		return // the engine has no such statement
	}
	if n := s.affected(both); n != 2 {
		t.Errorf("two rows: %d rows affected", n)
	}
	s.totals(tab, "15", "100", "26")
	s.addsNone("a row is missing", many("views", "1,99", "5,6", "[1,5],[99,6]"))
	s.run("UPDATE posts SET likes = " + nearlyFull + " WHERE id = 2")
	s.addsNone("a row is full", many("likes", "1,2", "5,"+nearlyFull, "[1,5],[2,"+nearlyFull+"]"))

	other.run("BEGIN", "UPDATE posts SET views = views + 1 WHERE id = 2")
	s.run(o.Impatient)
	s.addsNone("a row is locked", both)
	other.run("ROLLBACK")
	s.totals(tab, "15", "100", "26")
}

// nearlyFull is more than half of what a BIGINT takes.
const nearlyFull = "4611686018427387905"

// addsNone holds that a statement fails or affects no row.
func (s *session) addsNone(when, sql string) {
	s.Helper()
	r, err := s.Conn.ExecContext(s.Context(), sql)
	if err != nil {
		return
	}
	if n, err := r.RowsAffected(); n != 0 || err != nil {
		s.Errorf("%s: %d rows affected, %v", when, n, err)
	}
}
