package shadow

import "testing"

func TestQueue(t *testing.T) {
	var q queue
	state := func(what string, want queueState) {
		t.Helper()
		if q.state != want || int(q.waiting.Load()) != len(q.jobs) {
			t.Errorf("%s: state %d, want %d; %d jobs of %d", what, q.state, want, q.waiting.Load(), len(q.jobs))
		}
	}
	type added struct{ ok, begins bool }
	jobFirst, jobQueued, jobDropped := added{true, true}, added{ok: true}, added{}
	add := func(what string, j job, want added) {
		t.Helper()
		var got added
		got.ok = q.add(j, func() { got.begins = true })
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	next := func(what string, want *tracked) {
		t.Helper()
		if j, ok := q.next(); ok != (want != nil) || j.stmt != want {
			t.Errorf("%s: %v, %v", what, j.stmt, ok)
		}
	}
	one, two := &tracked{sql: "1"}, &tracked{sql: "2"}
	state("new", queueIdle)
	add("the first", job{stmt: one}, jobFirst)
	state("the first", queueWorking)
	add("the second, before the first is taken", job{stmt: two}, jobQueued)
	next("the first", one)
	next("the second", two)
	add("while the last is done", job{stmt: one}, jobQueued)
	next("that one", one)
	state("before the worker has asked for more", queueWorking)
	next("no more", nil)
	state("no more", queueIdle)
	add("a worker has to be started again", job{stmt: one}, jobFirst)
	for range maxShadowJobs - 1 {
		add("full at last", job{stmt: two}, jobQueued)
	}
	add("too many", job{stmt: two}, jobDropped)
	q.close()
	next("closed with jobs", nil)
	state("closed", queueClosed)
	next("closed still", nil)
	add("closed", job{stmt: one}, jobDropped)
	state("closed for good", queueClosed)
}
