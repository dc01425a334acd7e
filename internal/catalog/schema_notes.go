package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Which counters of a schema are not slotted, and the schema of an audit.

// plainCounter is a counter that stays an ordinary column, and why.
type plainCounter struct {
	Table  *schema.Table
	Column string
	Reason string
}

func (p *plainCounter) note() string {
	if p.Reason == schema.NoSlots {
		return fmt.Sprintf("table %s has slots: 0", p.Table.Name)
	}
	return fmt.Sprintf("counter %s.%s is not slotted: %s", p.Table.Name, p.Column, p.Reason)
}

// Adopted returns a schema of the tables.
func (c *Catalog) Adopted(checked []CheckedTable, views func(*Schema, *schema.Table) error) (*Schema, error) {
	sc := newSchema(c)
	for _, t := range checked {
		sc.adopt(t.Table)
		if t.Table.Counter.Slots == 0 {
			continue // views over it show totals
		}
		if err := views(sc, t.Table); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// Notes tells of the counters of tables that the statement may mean which are not
// slotted.
func (sc *Schema) Notes(query string) []string {
	var out []string
	for _, p := range sc.Plain {
		if note := p.note(); lex.ContainsFold(query, p.Table.Name) && !slices.Contains(out, note) {
			out = append(out, note)
		}
	}
	return out
}

// WhyUnslotted returns why increments of counters that the statement may mean go to no slot; "" if it names no table with such counters,
// and where nothing is known of tables.
func WhyUnslotted(sc *Schema, query string) (why string) {
	if sc == nil {
		return ""
	}
	for _, p := range sc.Plain {
		switch {
		case !lex.ContainsFold(query, lex.Spelled(p.Table.Name)):
		case p.Reason == schema.NoSlots, lex.ContainsFold(query, lex.Spelled(p.Column)):
			return p.note()
		default:
			why = "it needs no counter of " + p.Table.Name + " that is slotted"
		}
	}
	return why
}

// Audited returns the tables as an audit plans with them: all of the
// configuration, whatever their mode, for it is by the slots that are there that
// a total is read. Those with problems are left out; Check reports them by itself.
func (v *View) Audited(ctx context.Context) (*Schema, error) {
	cfg := v.Catalog.Config.Audited()
	s := NewCatalog(v.Catalog.Dialect, cfg, cfg.Tables())
	checked, _, err := s.CheckTables(config.Always, v.Look(ctx))
	if err != nil {
		return nil, err
	}
	return s.Adopted(checked, func(sc *Schema, t *schema.Table) error { return sc.LearnViews(ctx, v, t) })
}

// Counted returns the counters of t, with those that are not slotted.
func (sc *Schema) Counted(t *schema.Table) []string {
	all := t.Counter.Counters
	for _, p := range sc.Plain {
		if p.Table == t {
			all = append(all[:len(all):len(all)], p.Column)
		}
	}
	return all
}
