package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// learnTargets notes which counters and companions foreign keys refer to, in what of finds of
// the configured tables. Where none of them has an index nothing is asked.
func (v *View) learnTargets(ctx context.Context, of func(cfg *config.TableConfig) *schema.Table) error {
	d, ok := v.Catalog.Dialect.(dialect.TargetFinder)
	if !ok {
		return nil
	}
	var asked []*schema.Table
	for i := range v.Catalog.Tables {
		cfg := &v.Catalog.Tables[i]
		if t := of(cfg); t != nil && !t.IsView && mayBeTarget(cfg, t) && !slices.Contains(asked, t) {
			asked = append(asked, t)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return d.Targets(ctx, v.Own(), asked)
}

// lookTargets is how often foreign keys to counters are looked for again. The marks of a table do
// not include them: they are definitions of other tables, which MariaDB would have to open for
// each look.
const lookTargets = 15 * time.Second

// sameTargets reports whether foreign keys refer to the same counters as when the facts were
// read, as far as it is time to look.
func (c *Catalog) sameTargets(ctx context.Context, v *View) (bool, error) {
	d, ok := c.Dialect.(dialect.TargetFinder)
	if at := c.Watch.targets.Load(); !ok || at != 0 && clock()-time.Duration(at) < lookTargets {
		return true, nil
	}
	c.mu.Lock()
	sc := c.Home.Facts
	c.mu.Unlock()
	if sc == nil || sc.Stale() {
		return true, nil
	}
	c.Watch.targets.Store(int64(clock()))
	var known, now []*schema.Table
	for _, t := range slices.Concat(sc.Counters(), sc.Unslotted.grouped, sc.Unslotted.BySetting) {
		if slices.ContainsFunc(t.Storage.Indexed, t.IsSlotted) {
			other := *t
			other.ForeignKeys.Targets = nil
			known, now = append(known, t), append(now, &other)
		}
	}
	c.Watch.targeted.Store(len(now) > 0)
	if len(now) == 0 {
		return true, nil
	}
	if err := d.Targets(ctx, v.Own(), now); err != nil {
		return false, err
	}
	return slices.EqualFunc(known, now, func(a, b *schema.Table) bool {
		return slices.Equal(a.ForeignKeys.Targets, b.ForeignKeys.Targets)
	}), nil
}

// mayBeTarget reports whether a counter or companion is in an index, as a column is that a
// foreign key refers to.
func mayBeTarget(cfg *config.TableConfig, t *schema.Table) bool {
	indexed := func(written string) bool {
		c, _ := FindColumn(t, written)
		return c != nil && slices.Contains(t.Storage.Indexed, c.Name)
	}
	return slices.ContainsFunc(cfg.Counters, func(c config.CounterConfig) bool { return indexed(c.Column) }) ||
		slices.ContainsFunc(cfg.Companions, func(c config.CompanionConfig) bool { return indexed(c.Column) })
}
