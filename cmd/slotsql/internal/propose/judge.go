package propose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// judge decides on the candidates of one table.
type judge struct {
	d      dialect.Dialect
	tables []Table
	table  Table
	found  *finding
	key    []string
}

// propose plans the statements with each candidate as the only counter: what
// becomes of a statement then is due to that column. A column is worth
// proposing when some increment of it is slotted, and when it is known how
// often statements are run, no more of them drain for it.
//
//nolint:funlen // one table, from its statements to its proposal
func (j *judge) propose() *Proposal {
	t := j.table
	p := &Proposal{Table: configTable(t), table: t}
	why := j.chooseKey(p)
	needed := onUpdate(t.Table)
	added := map[string][]outcome{}
	for _, c := range j.found.columns {
		if ok, _ := j.configured([]string{c}, needed).Slottable(c); !ok {
			continue
		}
		for _, ch := range j.found.by[c] {
			if o := j.plan(ch.statement, []string{c}, needed); o.adds() {
				added[c] = append(added[c], o)
				if !slices.Contains(j.found.increments, ch) {
					j.found.increments = append(j.found.increments, ch)
				}
			}
		}
	}
	var adding []string
	for _, c := range j.found.columns {
		if len(added[c]) > 0 {
			adding = append(adding, c)
		}
	}
	kept, merges := j.settle(adding, needed)
	p.companions(merges)
	for _, c := range j.found.columns {
		with := adding // of one that is not kept the reason is what keeps it from slots
		if slices.Contains(kept, c) {
			with = kept
		}
		p.Counters = append(p.Counters, j.counter(c, with, needed, merges))
	}
	kept = nil
	for _, c := range p.Counters {
		if c.Off == "" {
			kept = append(kept, c.Column)
		}
	}
	switch {
	case len(kept) == 0 && why != "":
		p.Off = why
	case len(kept) == 0:
		p.Off = p.offs()
	case why != "":
		p.Notes = append(
			p.Notes,
			"it has no unique key, and its increments have no WHERE: assumed to be a table that only ever has one row",
		)
	}
	if len(kept) == 0 {
		p.Companions = nil
	}
	if len(kept) > 0 {
		j.uses(p, kept, merges)
	} else {
		j.uses(p, j.found.columns, nil)
	}
	p.Notes = append(p.Notes, tableNotes(t)...)
	return p
}

// settle returns the columns of which some increment is slotted, and the
// companions with which most are. Increments often add to several counters:
// which of them is a counter, and what is a companion, hangs together.
func (j *judge) settle(adding []string, needed []schema.Companion) (kept []string, merges []schema.Companion) {
	for kept = adding; ; {
		merges = j.companions(kept, needed)
		still := slices.DeleteFunc(slices.Clone(kept), func(c string) bool {
			return !slices.ContainsFunc(j.found.by[c], func(ch *change) bool { return j.plan(ch.statement, kept, merges).slotted })
		})
		if len(still) == len(kept) {
			return kept, merges
		}
		kept = still
	}
}

// counter judges one candidate. Its increments are planned with the counters
// that go with it, other statements with this one alone: what then drains does
// so because of it.
func (j *judge) counter(column string, kept []string, needed, merges []schema.Companion) Counter {
	c := Counter{Column: column, Notes: columnNotes(j.table, column)}
	if ok, why := j.configured([]string{column}, merges).Slottable(column); !ok {
		c.Off = why
		for _, ch := range j.found.by[column] {
			c.Runs += ch.statement.Runs
		}
		return c
	}
	var slotted, drained, base int64
	var why, heaviest string
	var most int64
	for _, s := range j.found.mentions {
		changes := slices.ContainsFunc(j.found.by[column], func(ch *change) bool { return ch.statement == s })
		o := j.plan(s, []string{column}, needed)
		if changes && slices.Contains(kept, column) {
			o = j.plan(s, kept, merges)
		}
		switch {
		case o.slotted && changes:
			slotted += s.weight()
			c.Runs += s.Runs
		case o.class == rewrite.AdditiveBase && changes:
			base += s.weight()
			c.Runs += s.Runs
			why = o.reason
		case o.class == rewrite.Drain || o.class == rewrite.Refused:
			drained += s.weight()
			if s.weight() > most || changes && s.weight() == most {
				most, heaviest = s.weight(), o.reason
			}
		}
	}
	for _, ch := range j.found.by[column] {
		if kind := j.kind(ch, []string{column}); kind != "" && !slices.Contains(c.Notes, kind) {
			c.Notes = append(c.Notes, kind)
		}
	}
	for _, ch := range j.found.by[column] {
		if by := ch.statement.By; by != "" && slotted > 0 {
			c.Notes = append(c.Notes, "counted by "+by+": slotsql ddl --functions --triggers prints a function that does not wait, and its body with a call of that")
		}
	}
	switch {
	case slotted == 0 && base > 0:
		c.Off = "its increments would run on the base row as they are: " + why
	case slotted == 0:
		c.Off = "no statement adds to it in a form that can go to slots: " + heaviest
	case drained > slotted && j.counted():
		c.Off = fmt.Sprintf("more runs would drain (%d) than go to slots (%d): %s", drained, slotted, heaviest)
	}
	return c
}

// counted reports whether it is known how often the table's statements are run. Of those of triggers it is not.
func (j *judge) counted() bool {
	if slices.ContainsFunc(j.found.increments, func(ch *change) bool { return ch.inside() && ch.statement.Runs == 0 }) {
		return false
	}
	return slices.ContainsFunc(j.found.mentions, func(s *Statement) bool { return s.Runs > 1 })
}

// uses lists what becomes of the table's statements.
func (j *judge) uses(p *Proposal, counters []string, merges []schema.Companion) {
	for _, s := range j.found.mentions {
		o := j.plan(s, counters, merges)
		u := Use{Statement: *s, Class: string(o.class), Reason: o.reason}
		switch {
		case o.adds():
			p.Adds = append(p.Adds, u)
		case o.class == rewrite.Drain || o.class == rewrite.Refused:
			for _, ch := range j.found.changes {
				if ch.statement == s && u.Kind == "" {
					u.Kind = j.kind(ch, counters)
				}
			}
			p.Slow = append(p.Slow, u)
		}
	}
}

// outcome is what the planner makes of a statement.
type outcome struct {
	class   rewrite.Class
	reason  string
	slotted bool
}

func (o outcome) adds() bool { return o.slotted || o.class == rewrite.AdditiveBase }

func (j *judge) plan(s *Statement, counters []string, merges []schema.Companion) outcome {
	configured := j.configured(counters, merges)
	if len(configured.Counter.Counters) == 0 {
		return outcome{class: rewrite.PassThrough}
	}
	c := &candidate{d: j.d, tables: j.tables, counter: configured, of: j.table.Table}
	p, err := (&rewrite.Planner{Dialect: j.d, Catalog: c}).Plan(s.SQL)
	if err != nil {
		return outcome{class: rewrite.Refused, reason: err.Error()}
	}
	o := outcome{class: p.Class, reason: p.Reason}
	if strings.HasPrefix(o.reason, rewrite.Rejected) { // the parser's words may hold values
		o.reason = rewrite.Rejected
	}
	if p.Class != rewrite.Multi {
		o.slotted = p.Increment != nil
		return o
	}
	// The worst part counts, but for those that add.
	o.class = rewrite.PassThrough
	for _, part := range p.Parts {
		switch part.Plan.Class {
		case rewrite.Drain, rewrite.Refused:
			o = outcome{class: part.Plan.Class, reason: part.Plan.Reason}
			if strings.HasPrefix(o.reason, rewrite.Rejected) {
				o.reason = rewrite.Rejected
			}
			return o
		case rewrite.AdditiveBase, rewrite.Additive, rewrite.Upsert:
			o = outcome{class: part.Plan.Class, reason: part.Plan.Reason, slotted: o.slotted || part.Plan.Increment != nil}
		}
	}
	return o
}

// configured is the table with a configuration.
func (j *judge) configured(counters []string, merges []schema.Companion) *schema.Table {
	cfg := config.TableDefaults()
	cfg.Key = append([]string{}, j.key...)
	for _, c := range counters {
		cfg.Counters = append(cfg.Counters, config.CounterConfig{Column: c})
	}
	for _, co := range merges {
		cfg.Companions = append(cfg.Companions, config.CompanionConfig{Column: co.Column, Merge: co.Merge})
	}
	t := *j.table.Table
	t.Counter = catalog.Counter(&cfg, &t, j.d.NameRules())
	t.Counter.Counters = catalog.Slotted(&t) // as when it is read
	return &t
}

// candidate is a names.Catalog: it has one counter table, and all others as they are.
type candidate struct {
	d       dialect.Dialect
	tables  []Table
	counter *schema.Table
	of      *schema.Table // what counter is in tables
}

// Counters implements names.Catalog.
func (c *candidate) Counters() []*schema.Table { return []*schema.Table{c.counter} }

// Lookup implements names.Catalog.
func (c *candidate) Lookup(name []ast.Ident) (*schema.Table, bool) {
	t := tableNamed(c.d, c.tables, name)
	if t == c.of && t != nil {
		t = c.counter
	}
	return t, true
}

const noKey = "it has no unique key of columns that are never NULL: add one, or write key: [] if it only ever has one row"

// chooseKey sets the key: the primary key, or else the unique key of fewest columns that are
// never NULL. Without one it says so.
func (j *judge) chooseKey(p *Proposal) (why string) {
	if j.key = bestKey(j.table.Table); j.key == nil {
		p.Key = []string{}
		return noKey
	}
	if !isPrimary(j.table.Table, j.key) {
		p.Key = j.key
	}
	return ""
}

func bestKey(t *schema.Table) (key []string) {
	for _, u := range t.Uniques {
		if u.Primary {
			return u.Columns
		}
	}
	for _, u := range t.Uniques {
		nullable := slices.ContainsFunc(u.Columns, func(c string) bool { return t.Column(c) == nil || t.Column(c).Nullable })
		if !nullable && (key == nil || len(u.Columns) < len(key)) {
			key = u.Columns
		}
	}
	return key
}

func isPrimary(t *schema.Table, key []string) bool {
	return slices.ContainsFunc(t.Uniques, func(u schema.Unique) bool { return u.Primary && slices.Equal(u.Columns, key) })
}
