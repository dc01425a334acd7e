package session

import (
	"database/sql/driver"
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// What is remembered of a transaction: events in, state out.
func TestHistory(t *testing.T) {
	t.Parallel()
	type event = func(*history)
	key := slots.RowKey{Values: "1"}
	change := func(how changeKind) event {
		return func(h *history) {
			h.lastChange++
			h.changes = map[slots.RowKey]rowChange{key: {how: how, drained: true, locked: true, at: h.lastChange}}
			h.slotlessRows = map[slotlessRow]int{{"posts", "1"}: h.lastChange}
			h.readTables, h.untied = map[string]bool{"posts": true}, map[string]bool{"posts": true}
			h.held, h.made, h.level = map[slots.RowKey]int{key: 3}, madeJournalRows, levelSnapshot
		}
	}
	begin := func(h *history) { h.begin(driver.TxOptions{Isolation: 4, ReadOnly: true}) }
	beginBySQL := func(ro bool) event {
		return func(h *history) { h.beginBySQL(lex.TxEvent{Kind: lex.TxBegins, ReadOnly: ro}) }
	}
	given, journaled := 0, 0
	end := func(h *history) {
		if h.end(func(slots.RowKey, int) { given++ }, func(slots.RowKey) { given += 10 }) {
			journaled++
		}
	}
	for _, c := range []struct {
		name             string
		events           []event
		begun            driver.IsolationLevel
		readOnly         bool
		level            level
		changes          int
		drained          bool
		locked, slotless bool
		how              changeKind
		given, journaled int
	}{
		{name: "nothing"},
		{name: "BeginTx", events: []event{begin}, begun: 4, readOnly: true},
		{name: "BEGIN", events: []event{beginBySQL(true)}, readOnly: true},
		{name: "BEGIN again", events: []event{beginBySQL(true), beginBySQL(false)}},
		{name: "SET TRANSACTION READ ONLY", events: []event{beginBySQL(false), (*history).restrict}, readOnly: true},
		{name: "changed", events: []event{change(changedAfterDrain)}, level: levelSnapshot,
			changes: 1, drained: true, locked: true, slotless: true, how: changedAfterDrain},
		{name: "locks given up", events: []event{change(changedAfterDrain), (*history).giveUpLocks},
			level: levelSnapshot, changes: 1, slotless: true, how: changedAfterDrain},
		{name: "an error", events: []event{change(changedOnBase), (*history).unlock}, level: levelSnapshot, changes: 1, drained: true, how: changedOnBase},
		{name: "another level", events: []event{change(changedOnBase), (*history).relevel},
			changes: 1, drained: true, locked: true, slotless: true, how: changedOnBase},
		{name: "in doubt", events: []event{change(changedAfterDrain), (*history).doubt}, changes: 1, how: changedInSlot},
		{name: "in doubt, on the base row", events: []event{change(changedOnBase), (*history).doubt}, changes: 1, how: changedOnBase},
		{name: "rolled back to a savepoint that is not known", events: []event{change(changedAfterDrain), func(h *history) {
			h.mark(lex.TxEvent{Kind: lex.TxRollbackTo, Name: "s"})
		}}, changes: 1, how: changedInSlot},
		{name: "ended", events: []event{begin, change(changedNew), end}, given: 1, journaled: 1},
		{name: "ended twice", events: []event{begin, change(changedNew), end, end}, given: 1, journaled: 1},
		{name: "forgotten", events: []event{begin, change(changedNew), (*history).forget}, begun: 4, readOnly: true},
	} {
		var h history
		given, journaled = 0, 0
		for _, e := range c.events {
			e(&h)
		}
		ch := h.changes[key]
		if h.begun != c.begun || h.readOnly != c.readOnly || h.level != c.level || h.lastChange != c.changes || len(h.changes) != c.changes ||
			len(h.readTables) != c.changes || len(h.untied) != c.changes || ch.drained != c.drained || ch.how != c.how ||
			ch.locked != c.locked || (len(h.slotlessRows) > 0) != c.slotless {
			t.Errorf("%s: %+v", c.name, h)
		}
		if given != c.given || journaled != c.journaled {
			t.Errorf("%s: %d slots given back, %d times journaled", c.name, given, journaled)
		}
	}
}

// Increments in slots count as changes before they have been worked out.
func TestLateChanges(t *testing.T) {
	t.Parallel()
	s, _ := benchShared(t, postgres.New(), "connection")
	c, err := NewConn(t.Context(), s, idleConn{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1")
	if err != nil {
		t.Fatal(err)
	}
	posts, pages := p.Increment.Table, *p.Increment.Table
	pages.Counter = &schema.Counter{SlotTable: schema.SlotTable{Name: "pages_slots"}}
	c.late = []lateChange{{plan: p, rows: &p.Increment.Row, how: changedOnBase}}
	if c.addedToSlots(nil) {
		t.Error("an increment on the base row counts as one in a slot")
	}
	c.late = append(c.late, lateChange{plan: p, rows: &p.Increment.Row, how: changedInSlot, slot: 3})
	if !c.addedToSlots(posts) || !c.addedToSlots(nil) || c.addedToSlots(&pages) {
		t.Error("an increment in a slot is not known, or of another table")
	}
	if _, known := c.slotsAddedTo(posts, [][]any{{"1"}}); !known || len(c.late) > 0 || len(c.changes) != 2 {
		t.Errorf("worked out %v, and %d are left", c.changes, len(c.late))
	}
}
