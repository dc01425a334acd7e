package config

import (
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// A counter with tickets gives numbers from blocks that a process has leased. Its
// increments never go to slots: the base row is at or above every number that is leased.

// maxBlock is the largest block: a process that ends loses at most as many numbers.
const maxBlock = 1_000_000

// tickets decodes {block: n}.
func (d *decoder) tickets(c *CounterConfig, e *entry, about string) {
	if e.value == nil || e.value.Type() == ast.NullType {
		d.report(e.at, e.path, "%s: tickets is empty: write tickets: {block: 1000}, or leave it out", about)
		return
	}
	about += ": tickets"
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, about, "block: 1000")
	if !ok {
		return
	}
	found := false
	for i := range entries {
		o := &entries[i]
		if o.name != "block" {
			d.unknown(o, about+": ", ticketKeys)
			continue
		}
		found = true
		n, ok := whole(o.value)
		if !ok || n < 1 || n > maxBlock {
			d.report(o.valueAt(), o.path, "%s: block must be a whole number from 1 to %d, got %s", about, maxBlock, describe(o.value))
			continue
		}
		c.Block = n
	}
	if !found {
		d.report(e.at, e.path, "%s: block is missing: say how many numbers a process leases at most, such as block: 1000", about)
	}
}

// slotsCounters reports whether some counter of the table may be in a slot: one with tickets never is.
func (t *TableConfig) slotsCounters() bool {
	return slices.ContainsFunc(t.Counters, func(c CounterConfig) bool { return c.Block == 0 })
}

// ticketsAlone reports keys of the table that contradict tickets. A table of whose counters
// all have them has no slots.
func (d *decoder) ticketsAlone(t *TableConfig) {
	for i := range t.Counters {
		if t.Counters[i].Block > 0 && !t.Coalesce {
			path := "counters." + PathName(t.Counters[i].Column) + ".tickets"
			d.problems = append(d.problems, t.Problem(path, "counter %s has tickets, which executions share, and coalesce is false: "+
				"remove one", Clip(t.Counters[i].Column)))
		}
	}
	if len(t.Counters) == 0 || t.slotsCounters() {
		return
	}
	if _, own := t.at["slots"]; own && t.Slots > 0 {
		d.problems = append(d.problems, t.Problem("slots", "all counters have tickets, which are never in slots: remove slots, or write slots: 0"))
	}
	t.Slots = 0
}
