package slots

import (
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

func sleepy(inSchema string) *schema.Counter {
	return &schema.Counter{
		Slots: 4, Layout: schema.LayoutDedicated, Options: schema.Options{Placement: schema.PlacementAdaptive},
		SlotTable: schema.SlotTable{Schema: inSchema, Name: "posts_slots"},
	}
}

// A table tells since when it is awake or asleep, and what woke it, from the change on.
func TestSleep(t *testing.T) {
	starts := 0
	s := Sleep{Start: func() bool { starts++; return true }}
	table := s.Of(sleepy(""))
	check := func(when string, awake bool, why Waking, started int, stirred bool) time.Time {
		t.Helper()
		state := s.State("posts_slots")
		if state != table.State() || state.Awake != awake || table.Awake() != awake || state.Cause != why {
			t.Errorf("%s: %+v", when, state)
		}
		if starts != started || table.Look() != stirred {
			t.Errorf("%s: %d starts, want %d, and stirred %t", when, starts, started, stirred)
		}
		return state.Since
	}
	if !check("at first", false, "", 0, false).IsZero() || !table.Asks() {
		t.Error("it has never been awake")
	}
	table.Slept()
	check("found asleep", false, "", 0, false)
	table.Woke(WokenByOther)
	since := check("found awake", true, WokenByOther, 1, true)
	if since.IsZero() || table.Asks() {
		t.Error("it is awake")
	}
	table.Woke(WokenByOther)
	check("found awake again", true, WokenByOther, 1, false)
	table.Woke(WokenByIncrement)
	if got := check("counted in a slot", true, WokenByOther, 2, true); got != since {
		t.Error("it has woken earlier")
	}
	table.Slept()
	asleep := check("asleep", false, WokenByOther, 2, false)
	if !asleep.After(since) || !table.Asks() {
		t.Error("it is asleep")
	}
	table.Woke(WokenByIncrement)
	check("counted in a slot again", true, WokenByIncrement, 3, true)
	table.found = time.Now().Add(-findPause)
	table.Woke(WokenByOther)
	check("found awake after a while", true, WokenByIncrement, 4, true)
}

// Of tables with one name in several namespaces one is enough to be awake.
func TestSleepOfNamespaces(t *testing.T) {
	var s Sleep
	a, b := s.Of(sleepy("a")), s.Of(sleepy("b"))
	a.Woke(WokenByIncrement)
	b.Woke(WokenByOther)
	b.Slept()
	if got := s.State("posts_slots"); got != a.State() || b.Awake() {
		t.Errorf("%+v", got)
	}
}

// Where increments always go to slots, nothing is remembered.
func TestAlwaysAwake(t *testing.T) {
	c := sleepy("")
	c.Options.Placement = schema.PlacementRandom
	s := Sleep{Start: func() bool { t.Error("started"); return true }}
	table := s.Of(c)
	table.Woke(WokenByIncrement)
	table.Slept()
	if table.State() != (TableSleep{Awake: true}) || table.Asks() || !table.Awake() || table.Fold(t.Context()) {
		t.Errorf("%+v", table.State())
	}
}

// What increments, queries and the worker find at the same time leaves one state.
func TestSleepConcurrent(t *testing.T) {
	var s Sleep
	table := s.Of(sleepy(""))
	for range 200 {
		var wg sync.WaitGroup
		wg.Go(func() { table.Woke(WokenByIncrement) })
		wg.Go(func() { table.Woke(WokenByOther) })
		wg.Go(func() { table.Asks() })
		wg.Go(table.Slept)
		wg.Go(table.Slept)
		wg.Wait()
		if table.Awake() != table.State().Awake {
			t.Fatalf("awake: %t, %+v", table.Awake(), table.State())
		}
	}
}
