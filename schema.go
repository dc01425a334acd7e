package slotsql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// schema is what is known of the tables of one namespace, and the plans made
// with it. It implements rewrite.Catalog. Facts are only added; when one turns
// out to be wrong the whole schema is marked stale and read again.
type schema struct {
	catalog   *catalog
	namespace string
	counters  []*rewrite.Table
	plain     []plainCounter
	planner   rewrite.Planner
	plans     planCache
	views     []rewrite.View
	held      []*rewrite.Table // that have a slot table, and no slotted counter
	lacking   bool             // tables were left out which nothing is demanded for: see withSlots
	changes   int64            // shared.changes before the facts were read
	review    time.Time        // when the facts are to be read again in any case; zero: never
	partial   bool             // a slot table is to be created when the transaction has ended

	mu    sync.RWMutex
	known map[string]*rewrite.Table // by name as written, folded

	starred map[*rewrite.Table]time.Time // when the columns were last compared
}

func newSchema(s *catalog) *schema {
	sc := &schema{catalog: s, known: map[string]*rewrite.Table{}, starred: map[*rewrite.Table]time.Time{}, changes: s.changes.Load()}
	sc.planner = rewrite.Planner{Dialect: s.dialect, Catalog: sc}
	return sc
}

// stale reports whether the facts are older than a change of the schema, or are to
// be looked at again.
func (sc *schema) stale() bool {
	return sc.changes != sc.catalog.changes.Load() || !sc.review.IsZero() && time.Now().After(sc.review)
}

func loadSchema(ctx context.Context, s *catalog, v *view, namespace string, strict bool) (*schema, error) {
	sc := newSchema(s)
	sc.planner.Dialect = s.dialectIn(namespace)
	if err := v.prefetch(ctx); err != nil {
		return nil, err
	}
	defer func() { v.prefetched = nil }()
	unseen, err := v.unseenBases(ctx)
	if err != nil {
		return nil, err
	}
	checked, unfit, problems, err := s.sortTables(func(t *TableConfig) bool {
		base, hidden := unseen[dialect.WrittenName{Schema: t.Schema, Name: t.Table}]
		return strict && demanded(t) && (!hidden || base.table != nil)
	}, starting, v.beneath(ctx, unseen))
	if err != nil {
		return nil, err
	}
	if more, err := sc.leftOut(ctx, v, unseen); err != nil {
		return nil, err
	} else if strict {
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	if s.dry {
		for _, c := range checked {
			if _, err := v.slotTable(ctx, c); err != nil {
				return nil, err
			}
			if err := sc.add(ctx, v, c.table); err != nil {
				return nil, err
			}
		}
		return sc, sc.reachHome(ctx, v)
	}
	if checked, sc.lacking, err = v.withSlots(ctx, checked, len(s.tables)); err != nil {
		return nil, err
	}
	rights, err := v.slotRights(ctx, checked)
	if err != nil {
		return nil, err
	}
	fitting := checked[:0]
	for _, c := range checked {
		found, more, err := sc.slotTable(ctx, v, c, rights, strict)
		if err != nil {
			return nil, err
		}
		if !strict || !demanded(c.config) {
			switch { // a view may have gone since
			case len(more) > 0:
				unfit = append(unfit, unfitTable{c.config, c.table, more})
			case found:
				fitting = append(fitting, c)
			}
			continue
		}
		problems, fitting = append(problems, more...), append(fitting, c)
		if s.beside {
			continue
		}
		if more, err = s.checkRows(ctx, v, c); err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		more, views, err := s.checkViews(ctx, v, c)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		s.reportViews(ctx, c.config, c.table, views)
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	for i := range s.tables {
		cfg := &s.tables[i]
		if t, err := v.look(ctx)(cfg.Schema, cfg.Table); err != nil {
			return nil, err
		} else if t == nil {
			if err := sc.abandoned(ctx, v, cfg); err != nil {
				return nil, err
			}
		}
	}
	for _, u := range unfit {
		if err := sc.unfit(ctx, v, u.config, u.table, u.problems); err != nil {
			return nil, err
		}
	}
	if err := v.prefetchHeld(ctx, fitting); err != nil {
		return nil, err
	}
	for _, c := range fitting {
		if err := sc.add(ctx, v, c.table); err != nil {
			return nil, err
		}
		if c.config.Schema == "" && len(c.table.Counter.Counters) > 0 {
			// The configuration's name was looked up in this namespace: it
			// need not be looked up again when a text has it.
			sc.known[sc.nameKey([]rewrite.Ident{{Name: c.table.Name, Quoted: true}})] = c.table
		}
	}
	return sc, sc.reachHome(ctx, v)
}

// unfitTable is a configured table that does not fit any more.
type unfitTable struct {
	config   *TableConfig
	table    *rewrite.Table
	problems []Problem
}

// checkTables holds the configured tables against the facts that look finds. A
// problem of one that is not strict is none.
func (s *catalog) checkTables(strict func(*TableConfig) bool, look func(schema, name string) (*rewrite.Table, error)) ([]checkedTable, []Problem, error) {
	checked, _, problems, err := s.sortTables(strict, everything, look)
	return checked, problems, err
}

// sortTables sorts the configured tables by the facts that look finds. Where it is
// not strict a table that is not there is left out, a counter that is not there any
// more is none, and a table that does not fit is unfit.
func (s *catalog) sortTables(strict func(*TableConfig) bool, first severity, look func(schema, name string) (*rewrite.Table, error)) (checked []checkedTable, unfit []unfitTable, problems []Problem, err error) {
	for i := range s.tables {
		cfg := &s.tables[i]
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
		more, counter := checkTableAs(cfg, t, s.dialect.NameRules(), severity)
		switch {
		case len(more) == 0:
			t.Counter = counter
			makePassive(cfg, t)
			checked = append(checked, checkedTable{cfg, t})
		case strict:
			problems = append(problems, more...)
		default:
			unfit = append(unfit, unfitTable{cfg, t, more})
		}
	}
	return checked, unfit, append(problems, checkTogether(checked, s.dialect.NameRules())...), nil
}

// slotTable holds a table's slot table against what it needs, and creates a
// missing one when the configuration says so. Where the facts are not read for the
// first time, the table has none as long as its slot table is not there: base values
// are then totals. It cannot be created in a transaction of the application.
func (sc *schema) slotTable(ctx context.Context, v *view, c checkedTable, rights map[*rewrite.Table]dialect.SlotRights, strict bool) (found bool, problems []Problem, err error) {
	d, s := sc.catalog.dialect, sc.catalog
	slots, err := v.look(ctx)(c.table.Counter.SlotSchema, c.table.Counter.SlotTable)
	if err != nil {
		return false, nil, err
	}
	strict = strict && demanded(c.config)
	r, known := rights[c.table]
	if slots == nil && known {
		found, problems := sc.unseen(ctx, c, r, strict)
		return found, problems, nil
	}
	if slots == nil && s.config.AutoMigrate() {
		open := false
		if !strict {
			if open, err = v.mayBeInTransaction(ctx); err != nil {
				return false, nil, err
			}
		}
		if sc.partial = sc.partial || open; !open {
			if err := v.migrate(ctx, d.CreateSlots(c.table)); err != nil {
				return false, nil, err
			}
			v.prefetched.forget(dialect.WrittenName{Schema: c.table.Schema, Name: c.table.Name})
			v.prefetched.forget(dialect.WrittenName{Schema: c.table.Counter.SlotSchema, Name: c.table.Counter.SlotTable})
			s.expire() // other namespaces may know the table as one without slots
			sc.changes = s.changes.Load()
			if slots, err = v.madeSlots(ctx, c); err != nil {
				return false, nil, err
			}
		}
	}
	if slots == nil && !strict {
		if !sc.partial {
			s.reportOnce(ctx, c.table, c.config.locate(checkSlotTable(c.table, nil)))
		}
		return false, nil, nil
	}
	defer func() {
		if len(problems) == 0 {
			sc.release(c.table, slots)
		}
	}()
	if !strict {
		problems = sc.lenient(c, slots)
	} else {
		s.learnSlots(c.table, slots)
		problems = s.checkSlots(c.table, slots)
		if len(problems) == 0 {
			problems = c.config.lacking(c.table.Counter, r.Lacks)
		}
	}
	return true, c.config.locate(problems), nil
}

// lenient holds a slot table that has been found right before against a table that
// may have changed: a counter that it has no column of is an ordinary column, and a
// column that the table has not is of no counter.
func (sc *schema) lenient(c checkedTable, slots *rewrite.Table) []Problem {
	s, t := sc.catalog, c.table
	if t.Counter.Shared == nil && !slots.IsView {
		t.Counter.Counters = slices.DeleteFunc(t.Counter.Counters, func(name string) bool {
			col, _ := findColumn(slots, name)
			if col == nil {
				sc.plain = append(sc.plain, plainCounter{t, name, "slot table " + clip(t.Counter.SlotTable) + " has no column for it: run `" + migrateCommand + "`"})
			}
			return col == nil
		})
	}
	s.learnSlots(t, slots)
	return s.checkSlots(t, outgrown(t, slots))
}

// add takes a checked table into the schema. Counters that cannot be slotted
// are taken off it: they then are ordinary columns, for which every statement
// is right as it is, once no slot holds anything for them.
func (sc *schema) add(ctx context.Context, v *view, t *rewrite.Table) error {
	if err := sc.retire(ctx, v, t); err != nil {
		return err
	}
	sc.adopt(t)
	return sc.learnViews(ctx, v, t)
}

// adopt makes t a counter table of the schema, with the counters that can be
// slotted, or are retired, and notes why the others cannot.
func (sc *schema) adopt(t *rewrite.Table) {
	var slotted []string
	for _, c := range t.Counter.Counters {
		ok, why := t.Slottable(c)
		if !ok && !t.Counter.IsPassive(c) {
			sc.plain = append(sc.plain, plainCounter{t, c, why})
		}
		if ok || t.Counter.IsPassive(c) || t.Counter.IsRetired(c) {
			slotted = append(slotted, c)
		}
	}
	if t.Counter.Counters = slotted; len(slotted) == 0 {
		sc.hold(t)
		return
	}
	sc.mu.Lock()
	sc.counters = append(sc.counters, t)
	sc.mu.Unlock()
}

// plainCounter is a counter that stays an ordinary column, and why.
type plainCounter struct {
	table  *rewrite.Table
	column string
	reason string
}

// Counters implements rewrite.Catalog.
func (sc *schema) Counters() []*rewrite.Table {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	return sc.counters
}

// Lookup implements rewrite.Catalog.
func (sc *schema) Lookup(name []rewrite.Ident) (*rewrite.Table, bool) {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	t, ok := sc.known[sc.nameKey(name)]
	return t, ok
}

func (sc *schema) nameKey(name []rewrite.Ident) string {
	var b strings.Builder
	for _, n := range name {
		b.WriteString(sc.fold(n))
		b.WriteByte(0)
	}
	return b.String()
}

// fold returns a name as written in the form the database stores it.
func (sc *schema) fold(n rewrite.Ident) string {
	if lower := strings.ToLower(n.Name); sc.catalog.dialect.SameTable(n, lower) {
		return lower
	}
	return n.Name
}

// learn looks tables up for the planner.
func (sc *schema) learn(ctx context.Context, v *view, names [][]rewrite.Ident) error {
	for _, n := range names {
		if len(n) > 1 {
			if err := sc.reach(ctx, v, sc.fold(n[len(n)-2]), sc.fold(n[len(n)-1])); err != nil {
				return err
			}
		}
	}
	return sc.learnWith(v.look(ctx), names)
}

func (sc *schema) learnWith(look func(schema, name string) (*rewrite.Table, error), names [][]rewrite.Ident) error {
	for _, n := range names {
		ns := ""
		if len(n) > 1 {
			ns = sc.fold(n[len(n)-2])
		}
		t, err := look(ns, sc.fold(n[len(n)-1]))
		if err != nil {
			return err
		}
		sc.note(n, t)
	}
	return nil
}

// note remembers what a name means, nil for nothing.
func (sc *schema) note(name []rewrite.Ident, t *rewrite.Table) {
	if t != nil && !t.Temporary {
		if c := sc.counter(t); c != nil {
			t = c
		}
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.known) > maxKnownTables {
		clear(sc.known)
	}
	sc.known[sc.nameKey(name)] = t
}

// maxKnownTables bounds the facts kept of tables that are no counter tables.
const maxKnownTables = 10000

// adopted returns a schema of the tables.
func (s *catalog) adopted(checked []checkedTable, views func(*schema, *rewrite.Table) error) (*schema, error) {
	sc := newSchema(s)
	for _, t := range checked {
		sc.adopt(t.table)
		if err := views(sc, t.table); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// notes tells of the counters of tables that the text may mean which are not
// slotted.
func (sc *schema) notes(query string) []string {
	var out []string
	for _, p := range sc.plain {
		if rewrite.ContainsFold(query, p.table.Name) {
			out = append(out, fmt.Sprintf("counter %s.%s is not slotted: %s", p.table.Name, p.column, p.reason))
		}
	}
	return out
}

// audited returns the tables as an audit plans with them: all of the
// configuration, whatever their mode, for it is by the slots that are there that
// a total is read. Those with problems are left out; Check reports them by itself.
func (c *view) audited(ctx context.Context) (*schema, error) {
	config := c.catalog.config.audited()
	s := newCatalog(c.catalog.dialect, config, config.Tables())
	checked, _, err := s.checkTables(always, c.look(ctx))
	if err != nil {
		return nil, err
	}
	return s.adopted(checked, func(sc *schema, t *rewrite.Table) error { return sc.learnViews(ctx, c, t) })
}

// counted returns the counters of t, with those that are not slotted.
func (sc *schema) counted(t *rewrite.Table) []string {
	all := t.Counter.Counters
	for _, p := range sc.plain {
		if p.table == t {
			all = append(all[:len(all):len(all)], p.column)
		}
	}
	return all
}
