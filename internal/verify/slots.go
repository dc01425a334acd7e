package verify

import (
	"context"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// orphans finds slot rows whose base row is not there. Deleting them, in a
// transaction that holds their locks and looks for the base row once more, is
// what tells; it is rolled back where nothing is to be fixed.
func (v *verifier) orphans(ctx context.Context, t *schema.Table, r *Report) error {
	var after []any
	for {
		keys, all, err := v.mover.Find(ctx, t, rollup.ReclaimSlots, after)
		if err != nil {
			return err
		}
		for _, k := range keys {
			var n int
			err := v.patiently(ctx, func() (err error) {
				n, err = v.reclaim(ctx, t, k.Values)
				return err
			})
			if err != nil {
				return err
			}
			if n > 0 {
				r.Findings = append(r.Findings, Finding{Kind: FindingOrphan, Key: v.key(t, k.Values), Slots: n, Fixed: v.options.Fix})
			}
			after = k.Values
			v.progress(1)
		}
		if all {
			return nil
		}
	}
}

// reclaim deletes the orphans of one key, and returns how many they are.
func (v *verifier) reclaim(ctx context.Context, t *schema.Table, key []any) (n int, err error) {
	err = v.transaction(ctx, func() (bool, error) {
		statements := v.mover.Statements(t, nil)
		for _, s := range statements.Reclaim {
			args := v.mover.Args(s, rollup.Bounds(t, nil, key))
			res, err := v.conn.ParentExec(ctx, s.SQL, args)
			if err != nil {
				return false, err
			}
			affected, err := res.RowsAffected()
			if err != nil {
				return false, err
			}
			n = int(affected)
		}
		return v.options.Fix && n > 0, nil
	})
	return n, err
}

// slots finds slot rows whose number no increment of this configuration uses: they
// count, and a roll-up moves them. Up to the highest number that a configuration
// may have nothing is wrong with them: "slots" was higher, or is in another process.
// They are reported as one, without a lock to make sure. Fixing folds them
// into the base row. In a table that other programs use as well any number is right.
//
//nolint:funlen // the steps of one check, in their order
func (v *verifier) slots(ctx context.Context, a *audit, r *Report) error {
	if a.t.Counter.Layout == schema.LayoutShared && a.t.Counter.SlotTable.Wide {
		return nil
	}
	if err := v.open(ctx); err != nil {
		return err
	}
	n := len(a.t.Counter.Key)
	facts, err := v.conn.Look(ctx)(a.t.Counter.SlotTable.Schema, a.t.Counter.SlotTable.Name)
	if err != nil || facts == nil {
		return err
	}
	for _, column := range append([]string{a.t.Counter.SlotTable.Column}, a.t.Counter.SlotKey()...) {
		if col, _ := catalog.FindColumn(facts, column); col == nil {
			r.Notes = append(r.Notes, "slot numbers are not checked: the slot table has another layout")
			return nil
		}
	}
	found, err := v.conn.Session().Query(ctx, a.outOfRange(""))
	if err != nil {
		return err
	}
	leftovers := Finding{Kind: FindingSlot, Info: true, Fixed: true}
	done := map[string]bool{}
	for _, row := range found {
		number, err := link.WholeOf(row[n])
		if err != nil {
			return err
		}
		legal := number >= 0 && number < config.MaxSlots
		f := Finding{Kind: FindingSlot, Key: v.key(a.t, row[:n]), Slots: 1}
		first := !done[rowText(f.Key, a.t)]
		done[rowText(f.Key, a.t)] = true
		if legal && leftovers.Key == nil {
			leftovers.Key = f.Key
		}
		switch {
		case legal && !v.options.Fix:
			leftovers.Slots++
			leftovers.Fixed = false
			if first {
				leftovers.Rows++
			}
			continue
		case !first: // its row has been looked at
			continue
		}
		if err := v.foldRow(ctx, a, v.arguments(row[:n]), &f); err != nil {
			return err
		}
		switch {
		case f.Slots == 0:
		case legal:
			leftovers.Rows++
			leftovers.Slots += f.Slots
			leftovers.Fixed = leftovers.Fixed && f.Fixed
		default:
			r.Findings = append(r.Findings, f)
		}
		v.progress(1)
	}
	if leftovers.Slots > 0 {
		r.Findings = append(r.Findings, leftovers)
	}
	return nil
}

// foldRow locks a row and looks at its slots again, and folds them if something is
// to be fixed.
func (v *verifier) foldRow(ctx context.Context, a *audit, key []any, f *Finding) error {
	return v.patiently(ctx, func() error {
		return v.transaction(ctx, func() (bool, error) {
			if err := v.drain(ctx, a, [][]any{key}, false); err != nil {
				return false, err
			}
			rows, err := v.conn.Session().Query(ctx, a.outOfRange(" AND "+a.among("slotsql_s", 1)), key...)
			if f.Slots = len(rows); err != nil || f.Slots == 0 || !v.options.Fix {
				return false, err
			}
			f.Fixed = true
			return true, v.drain(ctx, a, [][]any{key}, true)
		})
	})
}
