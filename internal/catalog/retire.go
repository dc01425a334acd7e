package catalog

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A counter that may not be slotted any more, because a CHECK constraint or a
// trigger was created, or its type has changed, is retired as long as slots hold
// something of it: it is summed and folded as ever, and no process adds to its slots.
//
// Processes learn of a change one after the other, within two seconds (lookFirst). So that none
// takes base values for totals while another one still counts in slots, a counter
// that this process has slotted stays retired for retirement, also with empty
// slots; and one that it has found plain is looked at again after that time.

// retirement is longer than it takes every process to notice a change.
const retirement = 5 * time.Second

// retirements is what a process knows of counters that are not slotted.
type retirements struct {
	slotted map[string]bool      // those that it has slotted
	since   map[string]time.Time // since when one is not
}

// retire sorts the counters of t that cannot be slotted: those that slots hold
// something of, or may, are retired. The others are plain once adopt takes them off.
func (sc *Schema) retire(ctx context.Context, v *View, t *schema.Table) error {
	tellDoubt(ctx, sc.Catalog, t)
	plain := unslotted(t)
	sc.Catalog.slotting(t, plain)
	if len(plain) == 0 || sc.Catalog.Role.Dry {
		return nil
	}
	held := slices.Repeat([]bool{true}, len(plain))
	var err error
	if !t.Counter.Rights.Blind {
		held, err = HeldOf(ctx, v, t, plain)
	}
	if err != nil {
		return err
	}
	for i, column := range plain {
		young, slotted := sc.Catalog.notSlotted(t, column)
		if why := t.Counter.Unslotted.Faults[column]; why != "" {
			sc.Catalog.warnOnce(ctx, t, "slotsql: counter "+column+" is not slotted", why)
		}
		if held[i] || young && slotted {
			t.Counter.Unslotted.Retired = append(t.Counter.Unslotted.Retired, column)
		}
		if held[i] || young {
			sc.lookAgain()
		}
	}
	return nil
}

// lookAgain has the facts read again after a while.
func (sc *Schema) lookAgain() { sc.fresh.review = time.Now().Add(retirement) }

// HeldOf reports for each of the columns whether slots hold something of it.
func HeldOf(ctx context.Context, v *View, t *schema.Table, columns []string) ([]bool, error) {
	if p := v.prefetched; p != nil {
		var held []bool
		for _, c := range columns {
			if some, ok := p.held[retirementID(t, c)]; ok {
				held = append(held, some)
			}
		}
		if len(held) == len(columns) {
			return held, nil
		}
	}
	d := v.Catalog.Dialect
	counts := make([]string, len(columns))
	for i, c := range columns {
		counts[i] = "COUNT(CASE WHEN " + d.Quote(c) + " <> 0 THEN 1 END)"
	}
	rows, err := v.Own().Query(ctx, "SELECT "+strings.Join(counts, ", ")+" FROM "+rewrite.SlotSource(d, t, columns...)+" AS slotsql_s")
	held := make([]bool, len(columns))
	if err != nil || len(rows) == 0 {
		return held, err
	}
	for i := range held {
		n, err := link.WholeOf(rows[0][i])
		if err != nil {
			return nil, err
		}
		held[i] = n > 0
	}
	return held, nil
}

func retirementID(t *schema.Table, column string) string {
	return t.Schema + "\x00" + t.Name + "\x00" + column
}

// TellUnslotted warns of the counters of t that cannot be slotted.
func (c *Catalog) TellUnslotted(ctx context.Context, t *schema.Table) {
	for _, column := range unslotted(t) {
		_, why := t.Slottable(column)
		c.warnOnce(ctx, t, "slotsql: counter "+column+" is not slotted", why)
	}
}

// tellDoubt warns of the counters of t that another user might slot.
func tellDoubt(ctx context.Context, c *Catalog, t *schema.Table) {
	for _, column := range t.Counter.Counters {
		if _, why := t.Slottable(column); why != "" && why == schema.Doubt(t) {
			c.warnOnce(ctx, t, "slotsql: counter "+column+" is not slotted", why)
		}
	}
}

// slotting notes which counters of t the process slots: all but those.
func (c *Catalog) slotting(t *schema.Table, plain []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notes.retired.slotted == nil {
		c.notes.retired = retirements{map[string]bool{}, map[string]time.Time{}}
	}
	isPlain := map[string]bool{}
	for _, name := range plain {
		isPlain[name] = true
	}
	for _, name := range t.Counter.Counters {
		if id := retirementID(t, name); !isPlain[name] {
			c.notes.retired.slotted[id] = true
			delete(c.notes.retired.since, id)
		}
	}
}

// notSlotted notes that a counter is not slotted. Young: other processes may not
// know it yet. Slotted: this process has slotted it before.
func (c *Catalog) notSlotted(t *schema.Table, column string) (young, slotted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := retirementID(t, column)
	since, known := c.notes.retired.since[id]
	if !known {
		since = time.Now()
		c.notes.retired.since[id] = since
	}
	return time.Since(since) < retirement, c.notes.retired.slotted[id]
}

// unslotted returns the counters that cannot be slotted.
func unslotted(t *schema.Table) []string {
	var out []string
	for _, c := range t.Counter.Counters {
		if ok, _ := t.Slottable(c); !ok && !t.Counter.Unslotted.IsPassive(c) {
			out = append(out, c)
		}
	}
	return out
}
