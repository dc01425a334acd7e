package dialecttest

import (
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// shares holds that counters may have their slots in a table that other tables use too:
// each counter has slot rows of its own, and those of another record type are left alone.
func (o Options) shares(t *testing.T) {
	s := o.sessions(t, 1)[0]
	tab := s.slotted(layouts["shared"])
	increment := func(id, column, slot, delta string) {
		t.Helper()
		in := incrementOf(tab, "p.id = "+id, slot)
		in.Deltas = []rewrite.Delta{{Column: column, SQL: delta}}
		if n := s.affected(s.Increment(tab, in)); n < 1 {
			t.Errorf("an increment of row %s affects %d rows", id, n)
		}
	}
	s.run("INSERT INTO posts_slots (type, id, slot, count) VALUES (9, 1, 0, 1000)")
	increment("1", "views", "0", "1")
	increment("1", "views", "0", "2")
	increment("1", "likes", "0", "3")
	increment("2", "views", "3", "5")
	s.want("4", "SELECT COUNT(*) FROM posts_slots")
	s.totals(tab, "13", "103", "25")
	add := rewrite.AddSQL{Key: []string{"1"}, Slot: "0", Deltas: []rewrite.Delta{{Column: "views", SQL: "4"}}}
	if sql := s.Add(tab, add); sql != "" {
		if n := s.affected(sql); n != 1 {
			t.Errorf("the short form affects %d rows", n)
		}
	} else {
		increment("1", "views", "0", "4")
	}
	s.totals(tab, "17", "103", "25")

	s.drain(tab, "p.id = 1", "1")
	s.want("17", "SELECT views FROM posts WHERE id = 1")
	s.want("103", "SELECT likes FROM posts WHERE id = 1")
	s.want("20", "SELECT views FROM posts WHERE id = 2")
	s.totals(tab, "17", "103", "25")

	whole := s.RollUp(tab, dialect.RollUpPart{Limit: 10})
	if found := s.step(whole.Find, nil); len(found) != 1 || text(found[0][0]) != "2" {
		t.Errorf("a pass finds %v, and row 2 alone has slots", found)
	}
	s.drain(tab, "", "")
	s.want("25", "SELECT views FROM posts WHERE id = 2")
	s.totals(tab, "17", "103", "25")
	s.want("1000", "SELECT SUM(count) FROM posts_slots")
}
