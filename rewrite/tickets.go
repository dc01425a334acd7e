package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// InBlocks is why a counter with tickets is never in a slot.
const InBlocks = "tickets: numbers come from blocks, and the base row is at or above all that are leased"

// drawsTickets is the reason of a statement whose numbers come from blocks.
const drawsTickets = "numbers come from blocks that the process has leased"

// block returns how many numbers may be leased at once for executions of the statement, 0
// where they are not to come from a block: it does more than to draw the next number of one
// row that its key alone says, and nothing of its result but the number depends on the row.
func (g *grouper) block() int64 {
	if len(g.counts) != 1 || len(g.group.Guards) > 0 || len(g.assigns) > 0 || len(g.group.Stars) > 0 {
		return 0
	}
	n := &g.counts[0]
	t := g.real.Counter.TicketsOf(n.column.Name)
	if t == nil || n.column.Numeric != schema.Integer || n.column.Nullable || n.first != nil || g.p.consts.noted(n.delta.literal) != "1" {
		return 0
	}
	for _, a := range g.group.Args {
		if a.Free {
			return 0
		}
	}
	for _, share := range g.group.Returns {
		if share != 1 {
			return 0
		}
	}
	draws := len(g.group.Returns) > 0
	if g.group.Upsert == nil {
		draws = (draws || g.group.InsertID == 1) && (g.m.st.Where == nil || g.rows.only)
	} else if g.group.InsertID > 0 {
		return 0 // what the session is told depends on whether the row is there
	}
	if !draws {
		return 0
	}
	return t.Block
}

// A TryLockDialect is a Dialect of a server whose increments wait for a locked row longer than a lease beside a
// transaction may.
type TryLockDialect interface {
	// TryLock writes a query that locks the base rows that the scope selects as an UPDATE of them does, and fails
	// at once where it would have to wait. It is empty where an UPDATE can be told not to wait.
	TryLock(t *schema.Table, s Scope) string
}

// tryLock is the group's TryLock.
func (g *grouper) tryLock() *Bound {
	d, ok := g.p.d.(TryLockDialect)
	if !ok || g.group.Upsert != nil {
		return nil
	}
	var tp template
	return tp.bound(g.p.d, d.TryLock(g.real, Scope{
		Ref:       g.p.names.BaseRef(g.real, g.m.target),
		Qualifier: g.p.names.Qualifier(g.m.target),
		Where:     tp.mark(g.rows.where),
	}))
}

// withTickets adds to a plan what its statement may do to rows of counters with tickets.
func (pl *Planner) withTickets(plan *Plan, sql string) (*Plan, error) {
	tables := pl.ticketed(sql)
	if len(tables) == 0 || plan.Class == Multi || plan.Class == Refused || plan.Base.Several {
		return plan, nil // each of several has been planned by itself
	}
	tokens, exec := lex.Scan(pl.Dialect.LexRules(), sql)
	spans := lex.Split(sql, tokens, exec)
	if len(spans) == 0 {
		return plan, nil
	}
	own := &Planner{Dialect: pl.Dialect, Catalog: groupedCatalog{pl.Catalog, tables}, sentinels: pl.sentinels}
	p := newPlanning(own, newSource(pl.Dialect.LexRules(), sql[:spans[0].End]))
	var effect Effect
	if len(sql) > maxPlanned || len(spans) > 1 {
		effect = unreadEffect(p.src)
	} else if effect = p.ticketEffect(plan); len(p.names.Missing) > 0 {
		return nil, &MissingError{p.names.Missing}
	}
	out := *plan
	out.Effects |= effect
	return &out, nil
}

// ticketed returns the tables with tickets whose names stand in a statement.
func (pl *Planner) ticketed(sql string) (out []*schema.Table) {
	for _, tables := range [][]*schema.Table{pl.grouped(), pl.Catalog.Counters()} {
		for _, t := range tables {
			if len(t.Counter.Tickets) > 0 && (lex.ContainsFold(sql, lex.Spelled(t.Name)) || lex.EscapedNames(pl.Dialect.LexRules(), sql)) {
				out = append(out, t)
			}
		}
	}
	return out
}

// ticketEffect returns what a statement that names tables with tickets may do to their rows.
// What it cannot tell it takes for the worst.
func (p *planning) ticketEffect(plan *Plan) Effect {
	const all = TicketLock | TicketRecall
	if sessionOnly(p.src) {
		return 0
	}
	st, err := parse(p.d, p.pl.sentinels, p.src.sql)
	if err != nil || st.Opaque != "" || p.src.bad || p.src.exec {
		return unreadEffect(p.src)
	}
	switch st.Kind {
	case ast.KindSession:
		return 0
	case ast.KindSelect, ast.KindReads, ast.KindExplain, ast.KindCreateSelect:
		switch {
		case st.Kind == ast.KindExplain && !st.Runs:
		case hasAny(p.src, "INSERT", "DELETE", "MERGE", "REPLACE") || hasAny(p.src, "UPDATE") && hasAny(p.src, "SET"):
			return all // in a WITH query, or it calls a function of that name
		case hasAny(p.src, "UPDATE", "SHARE", "LOCK"):
			return TicketLock
		}
		return 0
	case ast.KindInsert, ast.KindUpdate, ast.KindDelete:
		if p.lowers(st, plan) {
			return all
		}
		return TicketLock
	case ast.KindTruncate:
		return all
	}
	return unreadEffect(p.src)
}

// unreadEffect is ticketEffect of a statement of which no more is known than how it begins. One
// that is no statement about rows, such as VACUUM, or a call of a routine, may not be able to run
// in a transaction of slotsql's, and runs as it is.
func unreadEffect(src *source) Effect {
	for _, w := range []string{"UPDATE", "DELETE", "INSERT", "REPLACE", "MERGE", "WITH", "LOAD", "TRUNCATE"} {
		if src.is(0, w) {
			return TicketLock | TicketRecall
		}
	}
	return TicketLock
}

func hasAny(src *source, words ...string) bool {
	for _, w := range words {
		if src.hasWord(w) {
			return true
		}
	}
	return false
}

// lowers reports whether a statement may set a counter with tickets lower, or remove or rename
// its row. Of one that is planned as a group the sums of its executions say so.
func (p *planning) lowers(st *ast.Statement, plan *Plan) bool {
	for _, c := range st.With {
		if c.Statement != nil {
			return true
		}
	}
	switch {
	case st.Replace:
		return true
	case st.Kind == ast.KindDelete:
		return st.Target == nil || hasTickets(&p.names, st.Target)
	}
	set := st.Set
	if st.Kind == ast.KindInsert {
		if st.Conflict == nil {
			return false
		}
		set = st.Conflict.Set
	}
	as := *st
	as.Set = set
	m := p.newDML(&as)
	for _, a := range set {
		name := a.Column[len(a.Column)-1].Name
		for _, t := range p.pl.Catalog.Counters() {
			if t.IsKeyColumn(name) {
				return true
			}
			for _, c := range t.Counter.Tickets {
				if equalFold(c.Column, name) && !(plan.Group != nil && plan.Group.Table.Name == t.Name) && !m.raises(t, c.Column, a.Value) {
					return true
				}
			}
		}
	}
	return false
}

// raises reports whether a value adds a literal to the counter of the statement's own table.
func (m *dml) raises(t *schema.Table, column string, value *ast.Expr) bool {
	if m.table != t || value == nil {
		return false
	}
	m.sc.Strict = m.st.Kind == ast.KindInsert && m.p.d.Traits().StrictConflict
	defer func() { m.sc.Strict = false }()
	ops, ok := m.p.additive(m.sc, value, t, column)
	if !ok {
		return false
	}
	for _, op := range ops {
		d, simple := m.p.consts.simpleDelta([]operand{op})
		if !simple || d.literal == "" || d.literal[0] == '-' {
			return false
		}
	}
	return true
}

// hasTickets reports whether a source is a table with tickets.
func hasTickets(n *names.Resolver, s *ast.Source) bool {
	return len(s.Name) == 0 || n.LookupCounter(s.Name) != nil
}
