package dialecttest

import (
	"slices"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// counts holds what increments, totals and drains do: an increment adds to a slot
// and to nothing else, one of a row that is not there affects none, a total is base
// value and slots, and a drain moves all of it.
func (o Options) counts(t *testing.T) {
	for _, name := range []string{"dedicated", "companions", "journal"} {
		t.Run(name, func(t *testing.T) {
			s := o.sessions(t, 1)[0]
			tab := s.slotted(layouts[name])
			number := func(slot string) string {
				if tab.Counter.Layout == schema.LayoutJournal {
					return "107374182" + slot
				}
				return slot
			}
			for _, c := range []struct {
				where, slot string
				deltas      []string
			}{
				{"p.id = 1", "0", []string{"1", "1"}}, {"p.id = 1", "0", []string{"2", "2"}},
				{"p.id = 1", "3", []string{"-4"}}, {"p.id = 2", "3", []string{"5"}},
			} {
				if n := s.affected(s.Increment(tab, incrementOf(tab, c.where, number(c.slot), c.deltas...))); n < 1 {
					t.Errorf("an increment of %s affects %d rows", c.where, n)
				}
			}
			if n := s.affected(s.Increment(tab, incrementOf(tab, "p.id = 9", number("0"), "1"))); n != 0 {
				t.Errorf("an increment of no row affects %d", n)
			}
			if n := s.affected(s.Increment(tab, incrementOf(tab, "p.id = 2 AND p.grp = 8", number("0"), "1"))); n != 0 {
				t.Errorf("an increment that its WHERE leaves out affects %d rows", n)
			}
			s.adds(tab, number)
			s.want("10", "SELECT views FROM posts WHERE id = 1")
			s.totals(tab, "19", "103", "25")
			s.want("3", "SELECT COUNT(*) FROM posts_slots")

			s.drain(tab, "p.id = 1", "1")
			s.totals(tab, "19", "103", "25")
			s.want("19", "SELECT views FROM posts WHERE id = 1")
			s.want("20", "SELECT views FROM posts WHERE id = 2")
			s.want("0", "SELECT COUNT(*) FROM posts_slots WHERE id = 1")
			s.drain(tab, "", "")
			s.totals(tab, "19", "103", "25")
			s.want("25", "SELECT views FROM posts WHERE id = 2")
			s.want("0", "SELECT COUNT(*) FROM posts_slots")
			s.goes(tab, number("1"))
		})
	}
}

// adds holds that the short form adds to a slot row that is there, and to no other.
func (s *session) adds(tab *schema.Table, number func(string) string) {
	s.Helper()
	added := false
	for _, locks := range []bool{false, true} {
		add := func(key, slot, delta string) string {
			return s.Add(tab, rewrite.AddSQL{
				Key: []string{key}, Slot: number(slot), Deltas: []rewrite.Delta{{Column: "views", SQL: delta}}, Locks: locks,
			})
		}
		if add("1", "3", "10") == "" {
			continue
		}
		delta := "10"
		if added {
			delta = "0"
		}
		if n := s.affected(add("1", "3", delta)); n != 1 {
			s.Errorf("the short form, locking the base row %t, affects %d rows", locks, n)
		}
		added = true
		for _, row := range [][2]string{{"1", "5"}, {"9", "0"}} {
			if n := s.affected(add(row[0], row[1], "10")); n != 0 {
				s.Errorf("the short form, locking the base row %t, affects %d rows where there is no slot row", locks, n)
			}
		}
	}
	if !added {
		s.affected(s.Increment(tab, incrementOf(tab, "p.id = 1", number("3"), "10")))
	}
}

// totals holds what a reader sees of views and likes of row 1, and of views of row 2.
func (s *session) totals(tab *schema.Table, views, likes, other string) {
	s.Helper()
	for _, comparable := range []bool{false, true} {
		s.want(views, "SELECT "+s.Total(tab, "p", "views", comparable)+" FROM posts AS p WHERE id = 1")
		s.want(likes, "SELECT "+s.Total(tab, "p", "likes", comparable)+" FROM posts AS p WHERE id = 1")
		s.want(other, "SELECT "+s.Total(tab, "p", "views", comparable)+" FROM posts AS p WHERE id = 2")
	}
	s.want("1", "SELECT COUNT(*) FROM posts AS p WHERE "+s.Total(tab, "p", "views", true)+" = "+views)
}

// drain moves the slots of a row, or of all, as a session does.
func (s *session) drain(tab *schema.Table, where, key string) {
	s.Helper()
	scope := rewrite.Scope{Ref: "posts AS p", Qualifier: "p", Where: where}
	var keys [][]any
	if where == "" {
		scope = rewrite.Scope{}
	} else {
		keys = [][]any{{key}}
	}
	s.begin()
	defer s.commit()
	s.run(s.Lock(tab, scope)...)
	fold := s.Fold(tab, scope)
	for i, sql := range fold {
		if c, ok := s.Dialect.(rewrite.ConservingDialect); ok && i == len(fold)-1 {
			if reasons := s.query(c.Unmoved(tab, scope)); len(reasons) > 0 {
				s.Errorf("a base row has not taken what its slots hold: %v", reasons)
			}
		}
		s.run(sql)
	}
	names, ok := s.Dialect.(dialect.SlotNamer)
	if len(fold) > 0 || !ok {
		return
	}
	var rows [][]any
	for _, r := range s.query(names.FindSlots(tab, keys, true)) {
		if r[len(r)-1] != nil {
			rows = append(rows, r[1:])
		}
	}
	if len(rows) == 0 {
		return
	}
	held := s.query(names.HoldSlots(tab, rows))
	s.run(names.MoveSlots(tab, rows), names.RemoveSlots(tab, rows, held))
}

// goes holds that the slots of a row go with it, and that a row which comes back has
// none.
func (s *session) goes(tab *schema.Table, slot string) {
	s.Helper()
	s.affected(s.Increment(tab, incrementOf(tab, "p.id = 2", slot, "7")))
	s.run("DELETE FROM posts WHERE id = 2")
	s.want("0", "SELECT COUNT(*) FROM posts_slots")
	s.run("INSERT INTO posts (id, grp, views, likes) VALUES (2, 7, 1, 1)")
	s.want("1", "SELECT "+s.Total(tab, "p", "views", false)+" FROM posts AS p WHERE id = 2")
}

// rollsUp holds that a pass finds what slots hold, moves all of it and changes no
// total, and that what it leaves is nothing.
func (o Options) rollsUp(t *testing.T) {
	for _, name := range []string{"dedicated", "companions", "journal"} {
		t.Run(name, func(t *testing.T) {
			s := o.sessions(t, 1)[0]
			tab := s.slotted(layouts[name])
			for _, slot := range []string{"1073741820", "1073741821"} {
				if tab.Counter.Layout != schema.LayoutJournal {
					slot = slot[len(slot)-1:]
				}
				s.affected(s.Increment(tab, incrementOf(tab, "p.id = 1", slot, "3", "4")))
				s.affected(s.Increment(tab, incrementOf(tab, "p.id = 2", slot, "-5")))
			}
			s.run(s.RollUpSession()...)
			whole := s.RollUp(tab, dialect.RollUpPart{Limit: 10})
			found := s.step(whole.Find, nil)
			if len(found) != 2 || text(found[0][0]) != "1" || text(found[0][1]) != "2" || len(s.step(whole.Idle, nil))+len(s.step(whole.Orphans, nil)) > 0 {
				t.Fatalf("keys %v, idle %v, orphans %v", found, s.step(whole.Idle, nil), s.step(whole.Orphans, nil))
			}
			// First the one key, then the other.
			first, second := found[0][:1], found[1][:1]
			if whole.BytesAreText {
				first, second = []any{text(first[0])}, []any{text(second[0])}
			}
			s.batch(s.RollUp(tab, dialect.RollUpPart{Between: true, Limit: 10}), slices.Concat(first, first))
			s.want("16", "SELECT views FROM posts WHERE id = 1")
			s.want("108", "SELECT likes FROM posts WHERE id = 1")
			s.want("20", "SELECT views FROM posts WHERE id = 2")
			s.totals(tab, "16", "108", "10")
			s.batch(s.RollUp(tab, dialect.RollUpPart{Between: true, Limit: 10}), slices.Concat(second, second))
			s.want("10", "SELECT views FROM posts WHERE id = 2")
			s.totals(tab, "16", "108", "10")
			if left := s.step(whole.Find, nil); len(left) > 0 {
				t.Errorf("slots hold something after the pass: %v", left)
			}
			s.run(whole.Begin...)
			for _, step := range whole.Sweep {
				s.step(step, nil)
			}
			s.run(whole.Commit...)
			s.want("0", "SELECT COUNT(*) FROM posts_slots")
		})
	}
}

// step runs one statement of a roll-up, with the arguments that it takes.
func (s *session) step(step dialect.Step, values []any) [][]any {
	s.Helper()
	var args []any
	for _, i := range step.Args {
		v := values[i]
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		args = append(args, v)
	}
	return s.query(step.SQL, args...)
}

// batch moves a part of the slots.
func (s *session) batch(r dialect.RollUp, values []any) {
	s.Helper()
	s.run(r.Begin...)
	picked := s.step(r.Pick, values)
	if len(picked) != 1 || text(picked[0][0]) != "2" {
		s.Fatalf("picked %s, want 2 slot rows", picked)
	}
	values = append(values[:len(values):len(values)], picked[0][1:]...)
	for i, step := range r.Move {
		s.step(step, values)
		if i == 0 && r.Unmoved.SQL != "" {
			if reasons := s.step(r.Unmoved, values); len(reasons) > 0 {
				s.Errorf("a base row has not taken what its slots hold: %v", reasons)
			}
		}
	}
	s.run(r.Commit...)
}
