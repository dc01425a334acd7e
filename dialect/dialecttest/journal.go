package dialecttest

import (
	"testing"

	"github.com/slotsql/slotsql/dialect"
)

// merges holds that slot rows of a journal whose base row is locked become one slot row,
// so that a journal does not grow for as long as the lock is held, and that no total
// changes with it.
func (o Options) merges(t *testing.T) {
	all := o.sessions(t, 2)
	s, other := all[0], all[1]
	tab := s.slotted(layouts["journal"])
	r := s.RollUp(tab, dialect.RollUpPart{Limit: 10})
	if r.Gather.SQL == "" {
		if !s.Traits().OneWriter {
			t.Error("there is no Gather, and other sessions may lock base rows")
		}
		return
	}
	for _, number := range []string{"1073741820", "1073741821", "1073741822"} {
		s.affected(s.Increment(tab, incrementOf(tab, "p.id = 1", number, "3", "-4")))
	}
	s.affected(s.Increment(tab, incrementOf(tab, "p.id = 2", "1073741823", "5")))
	s.run(s.RollUpSession()...)
	other.run("BEGIN", "UPDATE posts SET grp = grp + 1 WHERE id = 1")

	s.run(r.Begin...)
	values := []any{nil, nil}
	if picked := s.step(r.Pick, values); len(picked) != 1 || text(picked[0][0]) != "1" {
		t.Fatalf("picked %s, want the slot row of the row that is not locked", picked)
	}
	gathered := s.step(r.Gather, values)
	if len(gathered) != 1 || text(gathered[0][0]) != "3" && text(gathered[0][0]) != "4" {
		t.Fatalf("gathered %s, want the slot rows that Pick leaves", gathered)
	}
	for _, step := range r.Merge {
		s.step(step, append(values[:2:2], gathered[0][1:]...))
	}
	s.run(r.Commit...)
	s.want("1", "SELECT COUNT(*) FROM posts_slots WHERE id = 1")
	s.want("1", "SELECT COUNT(*) FROM posts_slots WHERE id = 2")
	s.totals(tab, "19", "88", "25")
	s.want("10", "SELECT views FROM posts WHERE id = 1")
	other.run("ROLLBACK")

	s.drain(tab, "", "")
	s.want("19", "SELECT views FROM posts WHERE id = 1")
	s.totals(tab, "19", "88", "25")
}
