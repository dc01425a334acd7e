package slotsql

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// schema is what is known of the tables of one namespace, and the plans made
// with it. It implements rewrite.Catalog. Facts are only added; when one turns
// out to be wrong the whole schema is marked stale and read again.
type schema struct {
	shared   *shared
	counters []*rewrite.Table
	plain    []plainCounter
	planner  rewrite.Planner
	plans    planCache
	views    []rewrite.View
	lacking  bool  // tables were left out which nothing is demanded for: see withSlots
	changes  int64 // shared.changes before the facts were read

	mu    sync.RWMutex
	known map[string]*rewrite.Table // by name as written, folded

	starred map[*rewrite.Table]time.Time // when the columns were last compared
}

func newSchema(s *shared) *schema {
	sc := &schema{shared: s, known: map[string]*rewrite.Table{}, starred: map[*rewrite.Table]time.Time{}, changes: s.changes.Load()}
	sc.planner = rewrite.Planner{Dialect: s.dialect, Catalog: sc}
	return sc
}

// stale says that the facts are older than a change of the schema.
func (sc *schema) stale() bool { return sc.changes != sc.shared.changes.Load() }

func loadSchema(ctx context.Context, s *shared, ss *session, strict bool) (*schema, error) {
	sc := newSchema(s)
	checked, problems, err := s.checkTables(func(t *TableConfig) bool { return strict && demanded(t) }, ss.conn.look(ctx))
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	if s.dry {
		for _, c := range checked {
			if _, err := ss.conn.slotTable(ctx, c); err != nil {
				return nil, err
			}
			if err := sc.add(ctx, ss, c.table); err != nil {
				return nil, err
			}
		}
		return sc, sc.reachHome(ctx, ss)
	}
	if checked, sc.lacking, err = ss.conn.withSlots(ctx, checked, len(s.tables)); err != nil {
		return nil, err
	}
	for _, c := range checked {
		more, err := sc.slotTable(ctx, ss, c)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		if !strict || !demanded(c.config) || s.beside {
			continue // a view may have gone since
		}
		if more, err = s.checkRows(ctx, ss, c); err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		more, views, err := s.checkViews(ctx, ss, c)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
		s.reportViews(ctx, c.config, c.table, views)
	}
	if len(problems) > 0 {
		return nil, asConfigError(problems)
	}
	for _, c := range checked {
		if err := sc.add(ctx, ss, c.table); err != nil {
			return nil, err
		}
		if c.config.Schema == "" && len(c.table.Counter.Counters) > 0 {
			// The configuration's name was looked up in this namespace: it
			// need not be looked up again when a text has it.
			sc.known[sc.nameKey([]rewrite.Ident{{Name: c.table.Name, Quoted: true}})] = c.table
		}
	}
	return sc, sc.reachHome(ctx, ss)
}

// checkTables holds the configured tables against the facts that look finds.
// Where it is not strict a table that is not there is left out, and one that does not
// fit: where it has no slots every statement is right as it is.
func (s *shared) checkTables(strict func(*TableConfig) bool, look func(schema, name string) (*rewrite.Table, error)) ([]checkedTable, []Problem, error) {
	var problems []Problem
	var checked []checkedTable
	for i := range s.tables {
		cfg := &s.tables[i]
		t, err := look(cfg.Schema, cfg.Table)
		if err != nil {
			return nil, nil, err
		}
		strict := strict(cfg)
		if !strict && (t == nil || t.IsView || t.Temporary) {
			continue
		}
		more, counter := checkTable(cfg, t, s.dialect.Name())
		if len(more) > 0 && !strict {
			if slots, err := look(t.Schema, s.slotTableOf(cfg, t)); err != nil {
				return nil, nil, err
			} else if slots == nil {
				continue
			}
		}
		problems = append(problems, more...)
		if len(more) > 0 {
			continue
		}
		t.Counter = counter
		makePassive(cfg, t)
		checked = append(checked, checkedTable{cfg, t})
	}
	return checked, append(problems, checkTogether(checked, s.dialect.Name())...), nil
}

// slotTable holds a table's slot table against what it needs, and creates a
// missing one when the configuration says so.
func (sc *schema) slotTable(ctx context.Context, ss *session, c checkedTable) ([]Problem, error) {
	d := sc.shared.dialect
	slots, err := d.Table(ctx, ss, c.table.Counter.SlotSchema, c.table.Counter.SlotTable)
	if err != nil {
		return nil, err
	}
	if slots == nil && sc.shared.config.AutoMigrate() {
		if err := ss.conn.migrate(ctx, d.CreateSlots(c.table)); err != nil {
			return nil, err
		}
		sc.shared.expire() // other namespaces may know the table as one without slots
		if slots, err = d.Table(ctx, ss, c.table.Counter.SlotSchema, c.table.Counter.SlotTable); err != nil {
			return nil, err
		}
	}
	sc.shared.learnSlots(c.table, slots)
	return c.config.locate(sc.shared.checkSlots(c.table, slots)), nil
}

// add takes a checked table into the schema. Counters that cannot be slotted
// are taken off it: they then are ordinary columns, for which every statement
// is right as it is, once no slot holds anything for them.
func (sc *schema) add(ctx context.Context, ss *session, t *rewrite.Table) error {
	if plain := unslotted(t); len(plain) > 0 && !sc.shared.dry {
		if err := sc.foldOnce(ctx, ss, t, plain); err != nil {
			return err
		}
	}
	sc.adopt(t)
	return sc.learnViews(ctx, ss, t)
}

// unslotted returns the counters that cannot be slotted.
func unslotted(t *rewrite.Table) []string {
	var out []string
	for _, c := range t.Counter.Counters {
		if ok, _ := t.Slottable(c); !ok && !t.Counter.IsPassive(c) {
			out = append(out, c)
		}
	}
	return out
}

// adopt makes t a counter table of the schema, with the counters that can be
// slotted, and notes why the others cannot.
func (sc *schema) adopt(t *rewrite.Table) {
	var slotted []string
	for _, c := range t.Counter.Counters {
		if ok, why := t.Slottable(c); ok || t.Counter.IsPassive(c) {
			slotted = append(slotted, c)
		} else {
			sc.plain = append(sc.plain, plainCounter{t, c, why})
		}
	}
	t.Counter.Counters = slotted
	if len(slotted) > 0 {
		sc.mu.Lock()
		sc.counters = append(sc.counters, t)
		sc.mu.Unlock()
	}
}

// plainCounter is a counter that stays an ordinary column, and why.
type plainCounter struct {
	table  *rewrite.Table
	column string
	reason string
}

// foldOnce drains a table that has slots left of a time when more of its
// counters could be slotted.
func (sc *schema) foldOnce(ctx context.Context, ss *session, t *rewrite.Table, columns []string) error {
	d := sc.shared.dialect
	conds := make([]string, len(columns))
	for i, c := range columns {
		conds[i] = d.Quote(c) + " <> 0"
	}
	rows, err := ss.Query(ctx, "SELECT 1 FROM "+rewrite.SlotSource(d, t, columns...)+" AS slotsql_s WHERE "+strings.Join(conds, " OR ")+" LIMIT 1")
	if err != nil || len(rows) == 0 {
		return err
	}
	scope := rewrite.Scope{Ref: d.Quote(t.Schema) + "." + d.Quote(t.Name), Qualifier: d.Quote(t.Name)}
	return ss.conn.inTx(ctx, func() error {
		return ss.execAll(ctx, d.Lock(t, scope), d.Fold(t, scope))
	})
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
	if lower := strings.ToLower(n.Name); sc.shared.dialect.SameTable(n, lower) {
		return lower
	}
	return n.Name
}

// learn looks tables up for the planner.
func (sc *schema) learn(ctx context.Context, ss *session, names [][]rewrite.Ident) error {
	for _, n := range names {
		if len(n) > 1 {
			if err := sc.reach(ctx, ss, sc.fold(n[len(n)-2]), sc.fold(n[len(n)-1])); err != nil {
				return err
			}
		}
	}
	return sc.learnWith(ss.conn.look(ctx), names)
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
