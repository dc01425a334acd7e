package catalog

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Schema is what is known about the tables of one namespace, and the plans made from that. It
// implements names.Catalog. Facts are only added; if one turns out to be wrong, the whole schema
// is marked stale and read again.
type Schema struct {
	Catalog   *Catalog
	namespace string
	Tables    []*schema.Table
	Plain     []plainCounter
	Planner   rewrite.Planner
	Plans     PlanCache // by statement
	Shapes    PlanCache // what statements of one shape share, by lex.Shape's Key
	views     []rewrite.View
	Unslotted unslottedTables
	fresh     freshness
	awaited   awaited
	settings  settings

	mu    sync.RWMutex
	Known map[string]*schema.Table // by name as written, folded

	starred map[*schema.Table]time.Time // when the columns were last compared
	naming  atomic.Pointer[naming]
}

// unslottedTables are configured tables none of whose counters is slotted.
type unslottedTables struct {
	held      []*schema.Table       // that have a slot table
	grouped   []*schema.Table       // whose increments share statements on the base row
	BySetting []*schema.Table       // that have no slots, by slots: 0
	Missing   []*config.TableConfig // that do not exist
	Lacking   bool                  // tables were left out which nothing is demanded for: see withSlots
}

// freshness is how long the facts may be used.
type freshness struct {
	number  int64     // of the reading
	changes int64     // Noticed.Changes before the facts were read
	review  time.Time // when the facts are to be read again in any case; zero: never
	partial bool      // a slot table is to be created when the transaction has ended

	loaded  atomic.Int64 // Catalog.loads when a session last loaded them
	dropped atomic.Bool  // to make room for those of other namespaces
}

func newSchema(s *Catalog) *Schema {
	sc := &Schema{Catalog: s, Known: map[string]*schema.Table{}, starred: map[*schema.Table]time.Time{}}
	sc.fresh.changes, sc.fresh.number = s.Noticed.Changes.Load(), s.loads.Add(1)
	sc.Planner = rewrite.Planner{Dialect: s.Dialect, Catalog: sc}
	return sc
}

// Stale reports whether the facts are older than a change of the schema, are due to be looked
// at again, or are no longer kept.
func (sc *Schema) Stale() bool {
	f := &sc.fresh
	return f.changes != sc.Catalog.Noticed.Changes.Load() || !f.review.IsZero() && time.Now().After(f.review) || f.dropped.Load()
}

// Settled reports whether the facts hold, for any statement: no table is still to come, and no name could be overlooked.
func (sc *Schema) Settled() bool {
	return !sc.Stale() && !sc.fresh.partial && len(sc.awaited) == 0 && !sc.settings.foreign
}

// CheckTables checks the configured tables against the facts that look finds. A table that is not
// strict has no problems. Tables that have neither slots nor a slot table have Slots 0.
func (c *Catalog) CheckTables(
	strict func(*config.TableConfig) bool,
	look func(schema, name string) (*schema.Table, error),
) ([]CheckedTable, []config.Problem, error) {
	checked, _, problems, err := c.sortTables(strict, everything, look)
	if err != nil {
		return nil, nil, err
	}
	problems = append(problems, checkTogether(checked, c.Dialect.NameRules())...)
	return checked, problems, findLeftOver(checked, look)
}

// sortTables sorts the configured tables by the facts that look finds. For those that are not
// strict, a table that does not exist is left out, so is a counter whose column has been dropped,
// and a table that does not fit is unfit.
func (c *Catalog) sortTables(
	strict func(*config.TableConfig) bool,
	first severity,
	look func(schema, name string) (*schema.Table, error),
) (checked []CheckedTable, unfit []unfitTable, problems []config.Problem, err error) {
	for i := range c.Tables {
		cfg := &c.Tables[i]
		t, err := look(cfg.Schema, cfg.Table)
		if err != nil {
			return nil, nil, nil, err
		}
		strict := strict(cfg)
		if !strict && (t == nil || t.IsView || t.Temporary) {
			continue
		}
		severity := first
		if !strict {
			severity = running
		}
		more, counter := checkTableAs(cfg, t, c.Dialect.NameRules(), severity)
		switch {
		case len(more) == 0:
			t.Counter = counter
			counter.Counted = slices.Clone(counter.Counters)
			makePassive(cfg, t)
			checked = append(checked, CheckedTable{cfg, t})
		case strict:
			problems = append(problems, more...)
		default:
			unfit = append(unfit, unfitTable{cfg, t, more})
		}
	}
	return checked, unfit, problems, nil
}

// add takes a checked table into the schema. Counters that cannot be slotted are taken off it:
// they are ordinary columns, for which every statement is right as it is, once no slot holds
// anything for them.
func (sc *Schema) add(ctx context.Context, v *View, t *schema.Table) error {
	if err := sc.retire(ctx, v, t); err != nil {
		return err
	}
	sc.adopt(t)
	return sc.LearnViews(ctx, v, t)
}

// adopt makes t a counter table of the schema, with the counters that can be
// slotted, or are retired, and notes why the others cannot.
func (sc *Schema) adopt(t *schema.Table) {
	configured := t.Counter.Counters
	for _, c := range configured {
		if ok, why := t.Slottable(c); !ok && !t.Counter.Unslotted.IsPassive(c) {
			sc.Plain = append(sc.Plain, plainCounter{t, c, why})
		}
	}
	if t.Counter.Counters = Slotted(t); len(t.Counter.Counters) == 0 {
		sc.group(t, configured)
		if t.Counter.Slots > 0 {
			sc.hold(t)
		} else {
			sc.Unslotted.BySetting = append(sc.Unslotted.BySetting, t)
		}
		return
	}
	sc.mu.Lock()
	sc.Tables = append(sc.Tables, t)
	sc.mu.Unlock()
}

// Counters implements names.Catalog.
func (sc *Schema) Counters() []*schema.Table {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.Tables
}
