package propose

import (
	"slices"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file proposes slots: 0, where groups on the base row do what slots would: nothing of
// such a table is stored elsewhere, nothing drains, and every read runs as it is.

// Transactions say what is known of the transactions that increment a table: whether some
// increments run in them, and some outside. Why says how that is known.
type Transactions struct {
	Inside, Outside bool
	Why             string
}

const (
	oneWriter = "one connection writes at a time, so slots would wait for each other too; increments of a process that overlap share one statement and one commit"
	unheld    = "overlapping increments are grouped on the base row, and nothing drains"
)

// slotless has a table proposed with slots: 0 where that gains as much as slots would, or
// slots would not do.
func (j *judge) slotless(p *Proposal, known Transactions) {
	if j.key == nil && len(p.Adds) == 0 {
		return
	}
	all := j.found.columns
	p.Unslotted = p.Off
	if p.Off != "" && slices.ContainsFunc(p.Counters, func(c Counter) bool { return slices.Contains(c.Notes, bounded) }) {
		p.Unslotted += "; " + bounded
	}
	var shared []string
	for _, c := range all {
		if slices.ContainsFunc(j.found.by[c], func(ch *change) bool { return j.group(ch.statement, all).Group != nil }) {
			shared = append(shared, c)
		}
	}
	switch {
	case len(shared) == 0:
	case j.d.Traits().OneWriter:
		p.Slotless = oneWriter
	case p.Off != "" && (known.Outside || !known.Inside):
		p.Slotless = unheld
	case p.Off == "" && known.Outside && !known.Inside && j.allShare(p):
		p.Slotless = known.Why + ": those of a process that overlap share one statement on the base row. Write slots: 64 when transactions come to count these rows"
	}
	if p.Slotless != "" {
		j.withoutSlots(p, shared)
	}
}

// allShare reports whether no increment that slots would take runs alone in groups.
func (j *judge) allShare(p *Proposal) bool {
	for _, c := range p.Counters {
		for _, ch := range j.found.by[c.Column] {
			if p.Proposed(c.Column) && j.group(ch.statement, j.found.columns).Group == nil {
				return false
			}
		}
	}
	return true
}

// withoutSlots makes a proposal one with slots: 0: the counters are those whose increments
// share statements, and there is nothing that slots would make slow.
func (j *judge) withoutSlots(p *Proposal, shared []string) {
	slotted := p.Counters
	p.Off, p.Companions, p.Slow, p.Adds, p.Counters = "", nil, nil, nil, nil
	p.Notes = slices.DeleteFunc(p.Notes, func(n string) bool { return slices.Contains(tableNotes(j.table), n) })
	for i, column := range j.found.columns {
		c := Counter{Column: column}
		if off := slotted[i].Off; off != "" && !j.d.Traits().OneWriter {
			c.Notes = append(c.Notes, "not slotted: "+off)
		}
		for _, ch := range j.found.by[column] {
			c.Runs += ch.statement.Runs
		}
		if !slices.Contains(shared, column) {
			c.Off = "its increments run one by one: " + j.alone(column)
		}
		p.Counters = append(p.Counters, c)
	}
	for _, s := range j.found.mentions {
		if plan := j.group(s, shared); plan.Group != nil || plan.GroupReason != "" {
			p.Adds = append(p.Adds, Use{Statement: *s, Class: string(plan.Class), Reason: plan.GroupReason})
		}
	}
}

// alone says why no increment of a column shares a statement.
func (j *judge) alone(column string) string {
	for _, ch := range j.found.by[column] {
		if why := j.group(ch.statement, j.found.columns).GroupReason; why != "" {
			return why
		}
	}
	return "no statement adds to one row that a unique key fixes"
}

// group plans a statement without slots.
func (j *judge) group(s *Statement, counters []string) *rewrite.Plan {
	cfg := config.TableDefaults()
	cfg.Key, cfg.Slots = append([]string{}, j.key...), 0
	for _, c := range counters {
		cfg.Counters = append(cfg.Counters, config.CounterConfig{Column: c})
	}
	t := *j.table.Table
	t.Counter = catalog.Counter(&cfg, &t, j.d.NameRules())
	shared := catalog.Grouped(&t, counters)
	if shared == nil {
		return &rewrite.Plan{}
	}
	plan, err := (&rewrite.Planner{Dialect: j.d, Catalog: &grouping{candidate{d: j.d, tables: j.tables}, shared}}).Plan(s.SQL)
	if err != nil {
		return &rewrite.Plan{}
	}
	return plan
}

// grouping is a rewrite.GroupCatalog: it has one table without slots.
type grouping struct {
	candidate
	shared *schema.Table
}

// Counters implements names.Catalog.
func (g *grouping) Counters() []*schema.Table { return nil }

// Grouped implements rewrite.GroupCatalog.
func (g *grouping) Grouped() []*schema.Table { return []*schema.Table{g.shared} }
