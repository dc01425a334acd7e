package dialecttest

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// addsMany holds that a statement for many rows adds to each of them or to none: to none when one is
// missing, and when its counter would leave its range.
func (o Options) addsMany(t *testing.T) {
	s := o.sessions(t, 1)[0]
	d, ok := s.Dialect.(rewrite.ManyRowsDialect)
	if !ok {
		return
	}
	tab := s.slotted(layouts["dedicated"])
	many := func(column, rows string) string {
		return d.AddToRows(tab, rewrite.ManyRowsSQL{JSON: "'[" + rows + "]'", Count: "2", Deltas: []string{column}})
	}
	if n := s.affected(many("views", "[1,5],[2,6]")); n != 2 {
		t.Errorf("two rows: %d rows affected", n)
	}
	s.totals(tab, "15", "100", "26")
	s.addsNone("a row is missing", many("views", "[1,5],[99,6]"))
	s.run("UPDATE posts SET likes = " + nearlyFull + " WHERE id = 2")
	s.addsNone("a row is full", many("likes", "[1,5],[2,"+nearlyFull+"]"))
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
