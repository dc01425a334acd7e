package postgres

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var levels = []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}

// pair returns two sessions and a third one to watch them.
func pair(t *testing.T) (a, b, watch *session, tb *schema.Table) {
	open := database(t, posts, `INSERT INTO posts (id, title, likes) VALUES (1, 'one', 0), (2, 'two', 0)`)
	a, b, watch = open(), open(), open()
	tb = a.counter("posts", []string{"id"}, 4, "views", "likes")
	a.migrate(tb)
	return a, b, watch, tb
}

func eachLevel(t *testing.T, f func(t *testing.T, level string)) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			f(t, level)
		})
	}
}

func TestDrainBlocksIncrement(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		for _, scope := range []rewrite.Scope{one("id = 1"), {}} {
			a, b, watch, tb := pair(t)
			a.exec("BEGIN ISOLATION LEVEL " + level)
			a.run(drain(tb, scope)...)
			a.exec("UPDATE posts SET views = 100 WHERE id = 1")
			for i, holds := range []bool{true, false} {
				wait := b.blocks(watch, incrLocking(tb, holds, "id = 1", 2, "views", "1"))
				a.exec("COMMIT")
				if n, err := wait(); n != 1 || err != nil {
					t.Errorf("increment after the drain: %d, %v", n, err)
				}
				watch.wants(total(tb, "views", "id = 1"), fmt.Sprint(101+i))
				a.exec("BEGIN ISOLATION LEVEL " + level)
				a.run(drain(tb, scope)...)
				a.exec("UPDATE posts SET views = 101 WHERE id = 1")
			}
			a.exec("ROLLBACK")
		}
	})
}

func TestIncrementBlocksDrain(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		for _, scope := range []rewrite.Scope{one("id = 1"), {}} {
			a, b, watch, tb := pair(t)
			b.exec("BEGIN")
			b.exec(incr(tb, "id = 1", 2, "views", "1"))
			a.exec("BEGIN ISOLATION LEVEL " + level)
			lock := New().Lock(tb, scope)
			wait := a.blocks(watch, lock[0])
			b.exec("COMMIT")
			if _, err := wait(); err != nil {
				t.Fatal(err)
			}
			// What the snapshot does not show must not go unnoticed.
			err := a.folds(watch, tb, scope)
			seen := level == "READ COMMITTED" || scope.Where == ""
			if seen && err != nil || !seen && state(err) != "40001" {
				t.Errorf("scope %q: %v", scope.Where, err)
			}
			if err == nil {
				a.exec("UPDATE posts SET title = 'x' || views WHERE id = 1")
				a.wants("SELECT title FROM posts WHERE id = 1", "x1")
			}
			a.exec("ROLLBACK")
			watch.wants(total(tb, "views", "id = 1"), "1")
		}
	})
}

// folds does what is left of a drain whose rows are locked; it meets the slot rows
// that the witness sees and its own snapshot does not.
func (s *session) folds(witness *session, t *schema.Table, scope rewrite.Scope) error {
	d := New()
	rows, err := s.Query(s.t.Context(), d.Snapshot(t, scope))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		ask := []any{rows[0][0]}
		keyed := len(rows[0]) > 1
		if keyed {
			for i := range rows {
				rows[i] = rows[i][1:]
			}
			ask = append(ask, list(rows))
		}
		found, err := witness.Query(s.t.Context(), d.Newer(t, keyed), ask...)
		if err != nil {
			return err
		}
		n, err := s.try(d.Meet(t), list(found))
		if err == nil && n > 0 {
			_, err = s.try(d.Unserializable())
		}
		if err != nil {
			return err
		}
	}
	return s.each(d.Fold(t, scope))
}

// each runs statements until one fails.
func (s *session) each(statements []string) error {
	for _, sql := range statements {
		if _, err := s.try(sql); err != nil {
			return err
		}
	}
	return nil
}

func list(rows [][]any) string {
	b, _ := json.Marshal(rows)
	if rows == nil {
		return "[]"
	}
	return string(b)
}

// A slot that is new or changed since the snapshot fails the drain as a
// changed row fails the plain statement.
func TestStaleSnapshot(t *testing.T) {
	t.Parallel()
	for _, level := range levels[1:] {
		for _, scope := range []rewrite.Scope{one("id = 1"), {}} {
			for _, before := range []bool{false, true} {
				t.Run(fmt.Sprint(level, scope.Where, before), func(t *testing.T) {
					t.Parallel()
					a, b, witness, tb := pair(t)
					if before {
						b.exec(incr(tb, "id = 1", 2, "views", "1"))
					}
					a.exec("BEGIN ISOLATION LEVEL " + level)
					a.value("SELECT count(*) FROM posts")
					b.exec(incr(tb, "id = 1", 2, "views", "1"))
					a.run(New().Lock(tb, scope)...)
					if err := a.folds(witness, tb, scope); state(err) != "40001" {
						t.Errorf("drain on a stale snapshot: %v", err)
					}
					a.exec("ROLLBACK")

					// Another key's slots are no reason to fail.
					a.exec("BEGIN ISOLATION LEVEL " + level)
					a.value("SELECT count(*) FROM posts")
					b.exec(incr(tb, "id = 2", 2, "views", "1"))
					a.run(New().Lock(tb, one("id = 1"))...)
					if err := a.folds(witness, tb, one("id = 1")); err != nil {
						t.Error(err)
					}
					a.exec("COMMIT")
				})
			}
		}
	}
}

// A drain in a transaction that has made increments of its own folds them.
func TestDrainOfOwnIncrements(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		for _, scope := range []rewrite.Scope{one("id = 1"), {}} {
			a, _, _, tb := pair(t)
			a.exec("BEGIN ISOLATION LEVEL " + level)
			a.exec(incr(tb, "id = 1", 2, "views", "1"))
			a.run(drain(tb, scope)...)
			a.wants("SELECT views FROM posts WHERE id = 1", "1")
			a.exec(incr(tb, "id = 1", 2, "views", "1"))
			a.wants(total(tb, "views", "id = 1"), "2")
			a.exec("COMMIT")
			a.wants(total(tb, "views", "id = 1"), "2")
		}
	})
}

// The short form of a transaction locks the base row, as a drain does, before the slot row: it waits
// for one that takes the row's strongest lock without a slot row in its hands, and for a slot row with the base row locked. An
// update of the base row that is under way does not delay it.
func TestShortFormLocksBaseRowFirst(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		a, b, watch, tb := pair(t)
		add := New().Add(tb, rewrite.AddSQL{
			Key: []string{"1"}, Slot: "2", Deltas: []rewrite.Delta{{Column: "views", SQL: "1"}}, CheckBase: true, Locks: true,
		})
		a.exec(incr(tb, "id = 1", 2, "views", "1"))

		a.exec("BEGIN")
		scope := one("id = 1")
		scope.Removes = true
		a.run(New().Lock(tb, scope)...)
		b.exec("BEGIN ISOLATION LEVEL " + level)
		wait := b.blocks(watch, add)
		a.exec(`SELECT FROM posts_slots WHERE id = 1 AND slot = 2 FOR UPDATE NOWAIT`)
		a.exec("ROLLBACK")
		if n, err := wait(); n != 1 || err != nil {
			t.Errorf("after a drain that was rolled back: %d, %v", n, err)
		}
		b.exec("COMMIT")

		a.exec("BEGIN")
		a.exec("UPDATE posts_slots SET views = views WHERE id = 1 AND slot = 2")
		b.exec("BEGIN")
		wait = b.blocks(watch, add)
		if _, err := watch.try("SELECT FROM posts WHERE id = 1 FOR UPDATE NOWAIT"); state(err) != "55P03" {
			t.Errorf("a drain gets the row whose slot row is waited for: %v", err)
		}
		a.exec("COMMIT")
		if n, err := wait(); n != 1 || err != nil {
			t.Errorf("after the slot row's holder: %d, %v", n, err)
		}
		b.exec("COMMIT")

		a.exec("BEGIN")
		a.exec("UPDATE posts SET title = 'new' WHERE id = 1")
		b.exec("BEGIN ISOLATION LEVEL " + level)
		if n := b.exec(add); n != 1 {
			t.Errorf("beside an update of another column: %d rows", n)
		}
		b.exec("COMMIT")
		a.exec("COMMIT")
		watch.wants(total(tb, "views", "id = 1"), "4")

		a.run(drain(tb, one("id = 1"))...)
		if n := b.exec(add); n != 0 {
			t.Errorf("after a drain: %d rows", n)
		}
	})
}

// An increment that makes a slot row and an update of the row exclude each other, as they do where the
// increment is plain. It lets other increments pass, and rows that refer to its row.
func TestIncrementAndUpdateExclude(t *testing.T) {
	t.Parallel()
	a, b, watch, tb := pair(t)
	a.exec("BEGIN")
	a.exec("UPDATE posts SET title = 'new', views = views + 1 WHERE id = 1")
	wait := b.blocks(watch, incr(tb, "id = 1", 0, "views", "1"))
	a.exec("COMMIT")
	if n, err := wait(); n != 1 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	a.wants(total(tb, "views", "id = 1"), "2")

	a.exec("BEGIN")
	a.exec(incr(tb, "id = 1", 1, "views", "1"))
	if n := watch.exec(incr(tb, "id = 1", 0, "views", "1")); n != 1 {
		t.Errorf("another slot: %d rows", n)
	}
	if _, err := watch.try("SELECT FROM posts WHERE id = 1 FOR KEY SHARE NOWAIT"); err != nil {
		t.Errorf("a row that refers to it: %v", err)
	}
	wait = b.blocks(watch, "UPDATE posts SET title = 'newer' WHERE id = 1")
	a.exec("COMMIT")
	if n, err := wait(); n != 1 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	a.wants(total(tb, "views", "id = 1"), "4")
}

// A racing DELETE decides how many rows an increment affects.
func TestRacingDelete(t *testing.T) {
	t.Parallel()
	a, b, watch, tb := pair(t)
	a.exec("BEGIN")
	a.exec("DELETE FROM posts WHERE id = 1")
	wait := b.blocks(watch, incr(tb, "id = 1", 0, "views", "1"))
	a.exec("COMMIT")
	if n, err := wait(); n != 0 || err != nil {
		t.Errorf("increment of a deleted row: %d, %v", n, err)
	}

	b.exec("BEGIN")
	b.exec(incr(tb, "id = 2", 0, "views", "1"))
	wait = a.blocks(watch, "DELETE FROM posts WHERE id = 2")
	b.exec("COMMIT")
	if n, err := wait(); n != 1 || err != nil {
		t.Errorf("delete of an incremented row: %d, %v", n, err)
	}
	watch.wants("SELECT count(*) FROM posts_slots", "0")
}

func TestCreateSlotsAtTheSameTime(t *testing.T) {
	t.Parallel()
	open := database(t, posts)
	tb := open().counter("posts", []string{"id"}, 4, "views")
	const n = 8
	errs := make(chan error, n)
	for range n {
		s := open()
		go func() {
			errs <- func() error {
				if _, err := s.try("BEGIN"); err != nil {
					return err
				}
				for _, sql := range New().CreateSlots(tb) {
					if _, err := s.try(sql); err != nil {
						return err
					}
				}
				_, err := s.try("COMMIT")
				return err
			}()
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestForeignKeyFollowsTheBaseRow(t *testing.T) {
	t.Parallel()
	a, _, _, tb := pair(t)
	a.exec(incr(tb, "id = 1", 0, "views", "1"))
	a.exec("UPDATE posts SET id = 7 WHERE id = 1")
	a.wants(total(tb, "views", "id = 7"), "1")
	a.exec("DELETE FROM posts")
	a.wants("SELECT count(*) FROM posts_slots", "0")
}
