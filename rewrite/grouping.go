package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A GroupCatalog is a Catalog that also knows counter tables without slots: to the
// planner they are ordinary tables, whose statements run as they are, byte for byte. But
// increments of their counters may share a statement while they overlap.
//
// Each of their counters is one of Passive, so that planning with them as counter tables
// never has an increment go to a slot.
type GroupCatalog interface {
	Grouped() []*schema.Table
}

func (pl *Planner) grouped() []*schema.Table {
	if g, ok := pl.Catalog.(GroupCatalog); ok {
		return g.Grouped()
	}
	return nil
}

// The reasons of increments and touches of tables without slots.
const (
	runsGrouped = "the increment runs as written; those that overlap share one statement"
	runsAlone   = "the statement runs as written"
	comparesRow = "the statement runs as written; of those that overlap and expect the same version of a row one is sent"
	touchesRow  = "the statement runs as written; those that overlap and only touch the same row share one"
)

// withGroup returns the plan of a statement that runs as it is, with the group that its
// executions may share. The statement is planned a second time, as if the tables without slots
// were counter tables: what that would have slots drained or added up for is right as it
// is where there are none, so nothing but the group is kept of it.
func (pl *Planner) withGroup(plan *Plan, sql string) (*Plan, error) {
	if plan.Class != PassThrough || len(plan.Touched) > 0 || len(sql) > maxPlanned || lex.HintOf(sql) == lex.HintOff || !pl.mayGroup(sql) {
		return plan, nil
	}
	tokens, exec := lex.Scan(pl.Dialect.LexRules(), sql)
	spans := lex.Split(sql, tokens, exec)
	if len(spans) != 1 {
		return plan, nil
	}
	other := &Planner{Dialect: pl.Dialect, Catalog: groupedCatalog{pl.Catalog, pl.grouped()}, sentinels: pl.sentinels}
	made, err := other.single(sql, tokens, spans)
	if err != nil {
		return nil, err
	}
	if made.Group == nil && made.GroupReason == "" && made.Class != AdditiveBase {
		return plan, nil
	}
	out := *plan
	out.Class, out.Tables, out.Inputs = AdditiveBase, made.Tables, made.Inputs
	out.Group, out.GroupReason = made.Group, made.GroupReason
	if out.Reason = runsAlone; out.Group != nil {
		out.Reason = out.Group.reason()
	}
	return &out, nil
}

// reason names what executions that overlap have in common.
func (g *Group) reason() string {
	switch {
	case g.Lease.Block > 0:
		return drawsTickets
	case g.CompareAndSet != nil:
		return comparesRow
	case g.Touch():
		return touchesRow
	}
	return runsGrouped
}

// mayGroup reports whether a statement can be an increment of a table without slots, by its
// words.
func (pl *Planner) mayGroup(sql string) bool {
	tables := pl.grouped()
	if len(tables) == 0 {
		return false
	}
	first := lex.NewScanner(pl.Dialect.LexRules(), sql).Next()
	switch strings.ToUpper(sql[first.Start:first.End]) {
	case "UPDATE", "INSERT", "WITH":
	default:
		return false
	}
	for _, t := range tables {
		if lex.ContainsFold(sql, lex.Spelled(t.Name)) {
			return true
		}
	}
	return lex.EscapedNames(pl.Dialect.LexRules(), sql)
}

// groupedCatalog has tables without slots for its counter tables.
type groupedCatalog struct {
	names.Catalog
	tables []*schema.Table
}

// Counters implements Catalog.
func (c groupedCatalog) Counters() []*schema.Table { return c.tables }

// Lookup implements Catalog.
func (c groupedCatalog) Lookup(name []ast.Ident) (*schema.Table, bool) {
	t, known := c.Catalog.Lookup(name)
	if t != nil && !t.Temporary {
		for _, g := range c.tables {
			if g.Schema == t.Schema && g.Name == t.Name {
				return g, true
			}
		}
	}
	return t, known
}
