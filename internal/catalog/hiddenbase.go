package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// On MySQL a user does not see a table without some right on it. The user may still read it
// through views, for which it is enough to know its slot table. If that cannot be seen either, a
// user who sees no view that may read the table, and calls no routine, has nothing to do with it;
// others get an error that names the rights to grant.

// unseenBase is a configured table on which the session's user has no right.
type unseenBase struct {
	schema string
	table  *schema.Table // as its slot table shows it; nil where that is not to be seen either
}

// unseenBases finds them, by their configured names.
func (v *View) unseenBases(ctx context.Context) (map[dialect.WrittenName]unseenBase, error) {
	s := v.Catalog
	d, ok := s.Dialect.(dialect.RightsReader)
	if !ok || s.Role.Dry || s.Role.Beside {
		return nil, nil
	}
	var out map[dialect.WrittenName]unseenBase
	for i := range s.Tables {
		cfg := &s.Tables[i]
		n := dialect.WrittenName{Schema: cfg.Schema, Name: cfg.Table}
		if t, err := v.Look(ctx)(n.Schema, n.Name); err != nil {
			return nil, err
		} else if t != nil || !config.Demanded(cfg) {
			continue
		}
		inSchema, hidden, err := d.Hidden(ctx, v.Own(), n.Schema, n.Name)
		if err != nil {
			return nil, err
		} else if !hidden {
			continue
		}
		slots, err := v.Look(ctx)(n.Schema, s.slotTableOf(cfg, &schema.Table{Name: n.Name}))
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[dialect.WrittenName]unseenBase{}
		}
		out[n] = unseenBase{inSchema, baseOf(cfg, slots)}
	}
	return out, nil
}

// baseOf returns a base table as its own slot table shows it; nil without one.
func baseOf(cfg *config.TableConfig, slots *schema.Table) *schema.Table {
	if slots == nil || slots.IsView || cfg.Layout == schema.LayoutShared {
		return nil
	}
	t := &schema.Table{Schema: slots.Schema, Name: cfg.Table}
	for _, u := range slots.Uniques {
		if n := len(u.Columns) - 1; u.Primary && n >= 0 {
			for i := range slots.Columns {
				if col := slots.Columns[i]; col.Name != u.Columns[n] {
					col.Denied.Select, col.Denied.Insert, col.Denied.Update = true, true, true
					t.Columns = append(t.Columns, col)
				}
			}
			if n > 0 {
				t.Uniques = []schema.Unique{{Name: u.Name, Primary: true, Columns: slices.Clone(u.Columns[:n])}}
			}
		}
	}
	if len(t.Columns) == 0 {
		return nil
	}
	return t
}

// lookBase is Look, but also finds base tables that their slot tables show.
func (v *View) lookBase(ctx context.Context, unseen map[dialect.WrittenName]unseenBase) func(inSchema, name string) (*schema.Table, error) {
	look := v.Look(ctx)
	return func(inSchema, name string) (*schema.Table, error) {
		if t := unseen[dialect.WrittenName{Schema: inSchema, Name: name}].table; t != nil {
			return t, nil
		}
		return look(inSchema, name)
	}
}

// checkHiddenBases reports tables of which the session's user sees nothing, but which it may read
// through views or routines.
func (l *schemaLoader) checkHiddenBases(ctx context.Context) (problems []config.Problem, err error) {
	sc, s, v := l.sc, l.sc.Catalog, l.view
	d, _ := s.Dialect.(dialect.RightsReader)
	for i := range s.Tables {
		cfg := &s.Tables[i]
		base, hidden := l.unseen[dialect.WrittenName{Schema: cfg.Schema, Name: cfg.Table}]
		if !hidden || base.table != nil || cfg.Slots == 0 {
			continue
		}
		sc.lookAgain()
		t := &schema.Table{Schema: base.schema, Name: cfg.Table}
		t.Counter = heldCounter(base.schema, s.slotTableOf(cfg, t))
		views, err := dialect.Views(ctx, s.Dialect, v.Own(), dialect.Viewed{Table: t, Routines: routinesOf(cfg)})
		if err != nil {
			return nil, err
		}
		if len(views) == 0 && len(cfg.Routines) == 0 {
			continue
		}
		rights, err := d.SlotRights(ctx, v.Own(), []dialect.SlotTable{{Base: t, Views: append(views, cfg.Routines...)}})
		if err != nil {
			return nil, err
		}
		problems = append(
			problems,
			cfg.Problem(
				"",
				"does not exist in the database, or the session's user may not see it, who may read it through %s: create it, or run, as its owner: %s",
				strings.Join(append(views, cfg.Routines...), ", "),
				strings.Join(Grants(rights[0].Lacks), "; "),
			),
		)
	}
	return problems, nil
}
