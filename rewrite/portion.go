package rewrite

import "strconv"

// This file finds guarded decrements that may take from a portion.
//
// A slot of a counter with min holds a portion of it, which is never negative. Where the
// base value is at least f and a slot holds at least n, the total is at least f + n, no
// matter what the other slots hold: a statement that demands that much and takes no more
// than n is exact on the slot alone. See docs/design/escrow.md.

// A PortionDialect is a Dialect of an engine where transactions hold a row while others
// run: a guarded decrement of a counter with min may then take from a slot.
type PortionDialect interface {
	// Take writes the statement that subtracts Amount from the one slot row if that holds
	// at least Need. It says nothing about the base value, which is to be asked for when the slot
	// row is changed, and so locked. An empty text means that there is no such statement.
	Take(t *Table, in PortionSQL) string
	// Value writes a query for the server that the session is on and the counter's base
	// value; with lock one that locks the base row as an UPDATE of it does.
	Value(t *Table, in PortionSQL, lock bool) string
}

// PortionSQL is the variable part of a PortionDialect's statements, of markers as in
// IncrementSQL.
type PortionSQL struct {
	Column              string
	Key                 []string // the values of the table's key columns, in their order
	Slot                string
	Amount, Need, Floor string
	Place               string
	Ref, Where          string // the base row
}

// A PortionArg is a number that an execution has worked out for its portion.
type PortionArg uint8

// The numbers.
const (
	NoPortion     PortionArg = iota
	PortionAmount            // what the statement takes
	PortionNeed              // what the slot has to hold for that
	PortionFloor             // what the base value has to be at least
	PortionSize              // what is moved from the base row to the slot
	PortionPlace             // the server that the portion is on, as Value names it
)

// Portion is the form of a guarded decrement that takes from a slot.
type Portion struct {
	Table  *Table
	Column string
	// Delta is what the statement adds: a negative number, or no portion is for it.
	Delta Term
	// Demands are what it demands of the total: of each the sum of the terms at least, or
	// more than that.
	Demands []Demand
	// Min is what the configuration says is left in the base row. No proof relies on it.
	Min int64
	// Most is how large a portion may be, for the slot to stay in its range.
	Most int64

	Take Bound
	// Value reads the base value.
	Value KeyValue
	// LockValue, Less and Give move a portion from the base row to the slot: they lock the
	// row and read its value, subtract from it, and add to the slot.
	LockValue, Less, Give Bound
}

// Demand is a lower bound that a statement demands of a counter.
type Demand struct {
	Terms []Term
	More  bool // the counter has to be above it
}

// Term is a number of a statement, a literal or an argument.
type Term struct {
	Literal int64
	Arg     *Arg
}

// planPortion adds to the form that the base row may decide the one that takes from a slot.
func (g *grouper) planPortion(b *Bounded) {
	d, ok := g.d.(PortionDialect)
	if !ok || len(g.counts) != 1 || len(g.st.Set) != 1 || b.Key == nil || !g.takesPortions() {
		return
	}
	n := &g.counts[0]
	bounds := g.real.Counter.BoundsOf(n.column.Name)
	if n.coalesced || n.column.Numeric != Integer || bounds == nil || bounds.Max != nil || bounds.Min == nil || bounds.Min.Column != "" {
		return
	}
	out := &Portion{Table: g.real, Column: n.column.Name, Min: bounds.Min.Number, Most: mostPortion(n.column, g.real.Counter.Slots)}
	if out.Delta, ok = g.term(n.delta); !ok {
		return
	}
	rows, ok := g.portionRow(out)
	if !ok || g.plainIncrement() != "" {
		return
	}
	g.portionSQL(d, out, rows)
	if out.Take.SQL != "" {
		b.Portion = out
	}
}

// takesPortions reports whether slots of the table may hold portions: each stands by
// itself, is deleted with its base row, and is found again by its number.
func (g *grouper) takesPortions() bool {
	t := g.real
	c := t.Counter
	return !c.Single() && (c.Layout == LayoutDedicated || c.Layout == "") && c.Options.Placement != PlacementSkipLocked && c.Slots > 0 &&
		g.tied(t) && !t.Triggers.Update && !c.Rights.ByColumn && !c.Rights.Blind && len(c.Rights.Ungranted) == 0
}

// plainIncrement says why the statement without its guards could not be in a slot.
func (g *grouper) plainIncrement() string {
	m := g.newDML(g.st)
	a, why := m.assignments(g.st.Set)
	if why != "" {
		return why
	}
	if len(a.increments) != 1 || a.plain || a.setsCompanion() {
		return "the statement sets more than a counter"
	}
	if why := m.notSlotted(a); why != "" {
		return why
	}
	return m.mistyped(m.typeAt(a.increments))
}

// portionRow sorts WHERE into the key and guards; false where there is anything else.
func (g *grouper) portionRow(out *Portion) (*rowset, bool) {
	var key *Expr
	for _, c := range conjuncts(g.st.Where, nil) {
		if g.countedIn(c) == "" {
			if key == nil {
				key = c
			} else {
				key = &Expr{Kind: Binary, Op: "AND", Args: []*Expr{key, c}}
			}
			continue
		}
		d, ok := g.demanded(bare(c))
		if !ok {
			return nil, false
		}
		out.Demands = append(out.Demands, d)
	}
	rows := g.fixedRows(g.sc, g.target, key)
	if rows == nil || !rows.only || !rows.single || rows.key == nil || len(rows.key.Columns) != len(g.real.Counter.Key) {
		return nil, false
	}
	return rows, rows.slotKey(g.real) != nil && len(out.Demands) > 0
}

// demanded reads a guard: c >= x, c - y > x and their like.
func (g *grouper) demanded(e *Expr) (d Demand, ok bool) {
	if e.Kind != Binary || len(e.Args) != 2 || turned[e.Op] == "" {
		return d, false
	}
	l, r, op := e.Args[0], e.Args[1], e.Op
	if g.countedIn(l) == "" {
		l, r, op = r, l, turned[op]
	}
	c := g.counts[0].column
	if op != ">" && op != ">=" || g.countedIn(r) != "" {
		return d, false
	}
	d.More = op == ">"
	limit, ok := g.deltaOf(c, []operand{{expr: r}})
	if !ok {
		return d, false
	}
	t, ok := g.term(limit)
	if !ok {
		return d, false
	}
	d.Terms = append(d.Terms, t)
	beside, ok := g.additive(g.sc, l, g.table, c.Name)
	if !ok || len(beside) > 1 || g.counterIn(l).Kind != ColumnRef {
		return d, false
	}
	if len(beside) == 1 {
		delta, ok := g.deltaOf(c, beside)
		if !ok {
			return d, false
		}
		t, ok := g.term(delta)
		if !ok {
			return d, false
		}
		d.Terms = append(d.Terms, t.negated())
	}
	return d, true
}

// term reads a number.
func (g *grouper) term(d delta) (Term, bool) {
	if d.literal == "" {
		a := d.arg
		return Term{Arg: &a}, d.max == 0
	}
	g.noted(d.literal)
	n, err := strconv.ParseInt(d.literal, 10, 64)
	return Term{Literal: n}, err == nil && n <= MaxTerm && n >= -MaxTerm
}

// mostPortion is within the bounds of a slot of every engine: see each dialect's.
func mostPortion(c *Column, slots int) int64 {
	bits := c.Bits
	if bits <= 0 || bits > 64 {
		bits = 32
	}
	return (int64(1)<<(bits-2) - 1) / int64(20*slots)
}

// MaxTerm bounds the numbers that portions are worked out with.
const MaxTerm = 1 << 40

func (t Term) negated() Term {
	if t.Arg == nil {
		return Term{Literal: -t.Literal}
	}
	a := *t.Arg
	a.Negate = !a.Negate
	return Term{Arg: &a}
}

// portionSQL writes the statements.
func (g *grouper) portionSQL(d PortionDialect, out *Portion, rows *rowset) {
	var tp template
	number := func(a PortionArg) string { return tp.mark(bound(Arg{Portion: a, Index: -1})) }
	name := Ident{Name: g.real.Name, Quoted: true}
	b := &binding{source: &Source{Name: []Ident{name}}, label: name, table: g.real}
	ref, c := g.baseRef(g.real, nil), g.d.Quote(out.Column)
	var equal []fragment
	in := PortionSQL{Column: out.Column, Slot: tp.mark(bound(Arg{Slot: true})),
		Amount: number(PortionAmount), Need: number(PortionNeed), Floor: number(PortionFloor), Place: number(PortionPlace), Ref: ref}
	for _, k := range g.real.Counter.Key {
		v := rows.values[k]
		in.Key = append(in.Key, tp.mark(v))
		f := fragment{parts: append([]string(nil), v.parts...), args: v.args}
		f.parts[0] = g.qualifier(b) + "." + g.d.Quote(k) + " = " + f.parts[0]
		equal = append(equal, f)
	}
	in.Where = tp.mark(join(equal, " AND "))
	take := d.Take(g.real, in)
	if take == "" {
		return
	}
	out.Take = tp.expand(g.d, take)
	f := tp.pieces(d.Value(g.real, in, false))
	out.Value = KeyValue{f.parts, f.args}
	out.LockValue = tp.expand(g.d, d.Value(g.real, in, true))
	out.Less = tp.expand(g.d, "UPDATE "+ref+" SET "+c+" = "+c+" - "+number(PortionSize)+" WHERE "+in.Where)
	out.Give = tp.expand(g.d, g.d.Increment(g.real, IncrementSQL{Ref: ref, Qualifier: g.qualifier(b), Where: in.Where, Slot: in.Slot,
		Deltas: []Delta{{out.Column, number(PortionSize)}}, Clustered: rows.primary, Holds: true}))
}
