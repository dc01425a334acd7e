package random

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A layout says how a table's slots are kept, as the configuration has it. Chance
// gives one table in four each of the two that are not the dedicated one; Layout,
// when set, gives every table that one, where the table can have it.
type layout struct {
	rnd     *rand.Rand // apart from the generator's, whose tables stay what they were
	all     string
	records int
}

// Layout gives every table that can have it one layout; "" leaves it to chance.
// It is for the command line, and set before anything is made.
var Layout string

func newLayout(seed uint64) *layout {
	return &layout{rnd: rand.New(rand.NewPCG(seed, 0x1a7007)), all: Layout}
}

// of chooses the layout of a table with a key of columns.
func (l *layout) of(key []string, kind kind) (name, slotTable string) {
	name = l.all
	if name == "" {
		name = []string{"dedicated", "dedicated", "shared", "journal"}[l.rnd.IntN(4)]
	}
	if name != "shared" {
		return name, ""
	}
	switch {
	case len(key) != 1:
		return "dedicated", "" // it has no place for such a key
	case kind == words:
		return name, "slotted_texts"
	}
	return name, "slotted_counters"
}

// counter writes the configuration of a counter.
func (l *layout) counter(layout string) string {
	if layout != "shared" {
		return "{}"
	}
	l.records++
	return fmt.Sprintf("{record_type: %d}", l.records)
}

// sharedColumns makes some ordinary columns touched ones and some versions, and writes their configuration.
func (l *layout) sharedColumns(t *table) string {
	names := map[string][]string{}
	for _, c := range t.ordinary() {
		if c.merge != "" || c.unique || l.rnd.IntN(3) == 0 {
			continue
		}
		c.shared = []string{"touch", "versions"}[l.rnd.IntN(2)]
		names[c.shared] = append(names[c.shared], c.name)
	}
	var b strings.Builder
	for _, key := range []string{"touch", "versions"} {
		if len(names[key]) > 0 {
			fmt.Fprintf(&b, "    %s: [%s]\n", key, strings.Join(names[key], ", "))
		}
	}
	return b.String()
}

// Foreign are statements that put rows of other programs into the shared slot
// tables of an application, under keys that its own rows have; those of one that
// has no such table fail.
var Foreign = []string{
	"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (0, 1, 0, 1000), (900, 1, 0, 1000), (900, 2, 1, 1000)",
	"INSERT INTO slotted_texts (record_type, record_id, slot, count) VALUES (0, 'a', 0, 1000), (900, 'a', 0, 1000), (900, '5', 1, 1000)",
}
