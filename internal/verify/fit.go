package verify

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// fits holds the slot tables against their tables as Check does: what does not fit
// is a finding. It returns them by table, and the tables that are to be reported on:
// the counter tables, and those of which nothing is slotted, for that reason or another.
func (v *verifier) fits(ctx context.Context, sc *catalog.Schema) (map[*schema.Table][]Finding, []*schema.Table, error) {
	if err := v.open(ctx); err != nil {
		return nil, nil, err
	}
	found := map[*schema.Table][]Finding{}
	tables := slices.Concat(sc.Counters(), sc.Unslotted.BySetting)
	for i, list := range [][]*schema.Table{sc.Counters(), sc.Holders()} {
		for _, t := range list {
			slots, err := v.conn.Look(ctx)(t.Counter.SlotTable.Schema, t.Counter.SlotTable.Name)
			if err != nil {
				return nil, nil, err
			}
			if slots == nil {
				continue
			}
			fresh := *t
			counter := *t.Counter
			counter.Counters = sc.Counted(t)
			fresh.Counter = &counter
			misfits := v.shared.Misfits(&fresh, slots)
			for _, m := range misfits {
				found[t] = append(
					found[t],
					Finding{Kind: FindingFit, Counter: m.Counter, Problem: m.Why + ": run `" + catalog.MigrateCommand + "`"},
				)
			}
			if i > 0 && (len(misfits) > 0 || len(counter.Counters) > 0) {
				tables = append(tables[:len(tables):len(tables)], t)
			}
		}
	}
	return found, tables, nil
}
