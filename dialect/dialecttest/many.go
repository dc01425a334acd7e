package dialecttest

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// addsMany holds that a statement for many slot rows adds to each of them or to none:
// to none when one is missing, when another session has one locked, and, where it
// looks at the base rows, when one of those is missing. It does not wait for a lock.
func (o Options) addsMany(t *testing.T) {
	all := o.sessions(t, 2)
	s, other := all[0], all[1]
	tab := s.slotted(layouts["dedicated"])
	// Of rows 1 and 2, each with its slot and delta.
	many := func(checkBase bool, column, slots, deltas, rows string) string {
		return s.AddMany(tab, rewrite.AddManySQL{
			Columns: []string{"'{1,2}'", "'{" + slots + "}'", "'{" + deltas + "}'"},
			JSON:    "'[" + rows + "]'", Count: "2", Deltas: []string{column}, CheckBase: checkBase,
		})
	}
	for _, checkBase := range []bool{false, true} {
		if many(checkBase, "views", "3,4", "5,6", "[1,3,5],[2,4,6]") == "" {
			continue // the engine has no such statement
		}
		s.run("DELETE FROM posts_slots")
		for _, row := range [][2]string{{"1", "3"}, {"2", "4"}} {
			s.affected(s.Increment(tab, incrementOf(tab, "p.id = "+row[0], row[1], "1")))
		}
		if n := s.affected(many(checkBase, "views", "3,4", "5,6", "[1,3,5],[2,4,6]")); n != 2 {
			t.Errorf("two slot rows: %d rows affected", n)
		}
		s.totals(tab, "16", "100", "27")
		s.addsNone("a slot row is missing", many(checkBase, "views", "3,5", "5,6", "[1,3,5],[2,5,6]"))
		s.addsNone("a slot is full", many(checkBase, "likes", "3,4", "5,"+tooMuch, "[1,3,5],[2,4,"+tooMuch+"]"))
		s.totals(tab, "16", "100", "27")

		other.run("BEGIN", "UPDATE posts_slots SET views = views + 1 WHERE id = 2")
		s.run(o.Impatient)
		s.addsNone("a slot row is locked", many(checkBase, "views", "3,4", "5,6", "[1,3,5],[2,4,6]"))
		other.run("ROLLBACK")
		s.totals(tab, "16", "100", "27")
	}
}

// tooMuch is more than a slot of a BIGINT counter takes.
const tooMuch = "4611686018427387904"

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
