package rewrite

import (
	"strconv"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file finds guarded statements that may take from a portion.
//
// A slot of a counter with min holds a portion of it, which is never negative; with max it
// holds room, as a number that is never positive. Let a slot hold at least what a statement
// takes. Then the total is on the guards' side of the base value plus that amount, no
// matter what the other slots hold. So where the base row satisfies WHERE with the
// amount added to its counter, the total satisfies WHERE as well: its guards are harder for
// the base value to satisfy than for the total (proves). The statement is exact on the slot
// alone. See docs/design/escrow.md.

// A PortionDialect is a Dialect of an engine where transactions hold a row while others
// run: a guarded statement on a counter with bounds may then take from a slot.
type PortionDialect interface {
	// Taken writes what else the update of the slot row (Add) has to demand. Proves
	// reports whether it then affects no row unless the base row satisfies in.Base at a moment
	// at which the slot row held what the update finds in it. Where it does not, the base
	// row is to be asked for when the slot row is changed, and so locked. An empty
	// condition means that there is no such statement.
	Taken(t *schema.Table, in PortionSQL) (condition string, proves bool)
	// BaseHolds writes a query that names the server that the session is on where the base
	// row satisfies in.Base, and returns no row otherwise.
	BaseHolds(t *schema.Table, in PortionSQL) string
	// LockBase writes a query for the server that the session is on, the counter's
	// base value and its bound. It locks the base row as an UPDATE of it does.
	LockBase(t *schema.Table, in PortionSQL) string
	// Raised writes counter + amount in the column's own type, or less than that where the type
	// does not hold it; Lowered is counter - amount, or more.
	Raised(c *schema.Column, counter, amount string) string
	Lowered(c *schema.Column, counter, amount string) string
}

// PortionSQL is the variable part of a PortionDialect's statements, of markers as in
// IncrementSQL.
type PortionSQL struct {
	Column string
	Key    []string // the values of the table's key columns, in their order
	Slot   string
	Place  string
	Ref    string // the base row, as FROM takes it
	Base   string // the predicate that it has to satisfy
	Bound  string // the bound, a number or a column of Ref
}

// A PortionArg is a number that an execution has worked out for its portion.
type PortionArg uint8

// The numbers.
const (
	NoPortion    PortionArg = iota
	PortionDelta            // what is added to the counter of the share Arg.Column
	PortionNeed             // how much of it that takes from the slot
	PortionSize             // what is moved from the base row to the slot
	PortionPlace            // the server that the portion is on, as LockBase names it
)

// Portion is the form of a guarded statement that takes from a slot.
type Portion struct {
	Table  *schema.Table
	Shares []PortionShare
	Take   Bound
	// Base is what BaseHolds of PortionDialect has written, where Take does not prove it; no
	// parts where it does.
	Base KeyValue
}

// PortionShare is what the statement adds to one counter.
type PortionShare struct {
	Column string
	Delta  Term
	Side   schema.Side
	Max    int64 // the largest magnitude of what is added
	// Move is how a portion gets to the slot; nil for a counter without bounds.
	Move *PortionMove
}

// PortionMove moves a portion from the base row to a slot.
type PortionMove struct {
	// Most is how large a portion may be, for the slot to stay in its range.
	Most int64
	// Lock locks the row and reads its value and the bound, Less subtracts from the base
	// value, and Give adds to the slot.
	Lock, Less, Give Bound
}

// Term is a number of a statement, a literal or an argument.
type Term struct {
	Literal Literal
	Arg     *Arg
}

// MaxTerm bounds the numbers that portions are worked out with.
const MaxTerm = 1 << 40

// planPortion adds to the form that the base row may decide the one that takes from a slot.
func (bf boundedForm) planPortion(b *Bounded) {
	d, ok := bf.p.d.(PortionDialect)
	if !ok || b.Key == nil || !bf.takesPortions() || bf.plainIncrement() != "" {
		return
	}
	rows := bf.g.rows
	if !rows.single || rows.key == nil || len(rows.key.Columns) != len(bf.g.real.Counter.Key) {
		return
	}
	out, guarded := &Portion{Table: bf.g.real}, false
	for i := range bf.g.counts {
		s, ok := bf.portionShare(&bf.g.counts[i])
		if !ok {
			return
		}
		out.Shares = append(out.Shares, s)
		guarded = guarded || s.Side != schema.AnySide
	}
	if guarded && bf.portionSQL(d, out, rows) {
		b.Portion = out
	}
}

// portionShare is the share of one counter; false where a slot does not take it.
func (bf boundedForm) portionShare(n *counting) (s PortionShare, ok bool) {
	if n.coalesced || n.column.Numeric != schema.Integer {
		return s, false
	}
	s = PortionShare{Column: n.column.Name, Side: bf.g.real.Counter.Side(n.column.Name)}
	s.Max, _ = limit(n.column)
	s.Max = min(s.Max, n.delta.most(s.Max))
	if s.Delta, ok = bf.term(n.delta); !ok || s.Side != schema.NeverNegative && n.column.Unsigned {
		return s, false // an UNSIGNED slot is never negative
	}
	return s, true
}

// takesPortions reports whether slots of the table may hold portions: each stands by
// itself, is deleted with its base row, and is found again by its number.
func (bf boundedForm) takesPortions() bool {
	t := bf.g.real
	c := t.Counter
	return !c.Single() && (c.Layout == schema.LayoutDedicated || c.Layout == "") && c.Options.Placement != schema.PlacementSkipLocked && c.Slots > 0 &&
		cascadesDelete(bf.p.d, t) && !t.Triggers.Update && !c.Rights.ByColumn && !c.Rights.Blind && len(c.Rights.Ungranted) == 0
}

// plainIncrement says why the statement without its guards could not be in a slot.
func (bf boundedForm) plainIncrement() string {
	m := bf.p.newDML(bf.g.m.st)
	a, why := m.assignments(bf.g.m.st.Set)
	if why != "" {
		return why
	}
	if len(a.increments) != len(bf.g.counts) || a.plain || a.setsCompanion() {
		return "the statement sets more than counters"
	}
	if why := m.notSlotted(a); why != "" {
		return why
	}
	return m.p.consts.mistyped(m.typeAt(a.increments))
}

// term reads a number.
func (bf boundedForm) term(d delta) (Term, bool) {
	if d.literal == "" {
		a := d.arg
		return Term{Arg: &a}, d.max == 0
	}
	bf.p.consts.noted(d.literal)
	n, err := strconv.ParseInt(d.literal, 10, 64)
	return Term{Literal: Literal{same: n}}, err == nil && n <= MaxTerm && n >= -MaxTerm
}

// mostPortion is within the bounds of a slot of every engine: see each dialect's.
func mostPortion(c *schema.Column, slots int) int64 {
	bits := c.Bits
	if bits <= 0 || bits > 64 {
		bits = 32
	}
	return (int64(1)<<(bits-2) - 1) / int64(20*slots)
}

// portionSQL writes the statements; false where there are none.
func (bf boundedForm) portionSQL(d PortionDialect, out *Portion, rows *rowset) bool {
	var tp template
	name := ast.Ident{Name: bf.g.real.Name, Quoted: true}
	b := &names.Binding{Source: &ast.Source{Name: []ast.Ident{name}}, Label: name, Table: bf.g.real}
	in := PortionSQL{Column: bf.g.counts[0].column.Name, Slot: tp.mark(bound(Arg{Slot: true})),
		Ref:   bf.p.names.BaseRef(bf.g.real, bf.g.m.target),
		Place: tp.mark(bound(Arg{Portion: PortionPlace, Index: -1}))}
	var equal []fragment
	for _, k := range bf.g.real.Counter.Key {
		v := rows.values[k]
		in.Key = append(in.Key, tp.mark(v))
		f := fragment{parts: append([]string(nil), v.parts...), args: v.args}
		f.parts[0] = bf.p.names.Qualifier(b) + "." + bf.p.d.Quote(k) + " = " + f.parts[0]
		equal = append(equal, f)
	}
	in.Base = bf.withTaken(d, &tp, out)
	condition, proves := d.Taken(bf.g.real, in)
	add := AddSQL{Key: in.Key, Slot: in.Slot}
	for i := range out.Shares {
		delta := tp.mark(bound(Arg{Portion: PortionDelta, Column: i, Index: -1}))
		add.Deltas = append(add.Deltas, Delta{out.Shares[i].Column, delta})
	}
	take := bf.p.d.Add(bf.g.real, add)
	if condition == "" || take == "" {
		return false
	}
	for i := range out.Shares {
		s, c := &out.Shares[i], bf.p.d.Quote(out.Shares[i].Column)
		switch s.Side {
		case schema.NeverNegative:
			take += " AND " + c + " + " + add.Deltas[i].SQL + " >= 0"
		case schema.NeverPositive:
			take += " AND " + c + " + " + add.Deltas[i].SQL + " <= 0"
		}
	}
	out.Take = tp.expand(bf.p.d, take+" AND "+condition)
	if !proves {
		f := tp.pieces(d.BaseHolds(bf.g.real, in))
		out.Base = f.keyValue()
	}
	where := tp.mark(join(equal, " AND "))
	for i := range out.Shares {
		if s := &out.Shares[i]; s.Side != schema.AnySide {
			bf.moveSQL(d, &tp, s, in, b, where, rows.primary)
		}
	}
	return true
}

// withTaken is WHERE, and what SET implies, with what the statement takes from the slot added
// to the counters of the base row.
func (bf boundedForm) withTaken(d PortionDialect, tp *template, out *Portion) string {
	var edits []edit
	for _, e := range append([]*ast.Expr{bf.g.m.st.Where}, bf.g.implied...) {
		e.Walk(func(x *ast.Expr) bool {
			if x.Kind != ast.ColumnRef {
				return true
			}
			i := bf.g.share(bf.p.names.TargetColumn(bf.g.m.sc, bf.g.m.target, x.Name))
			if i < 0 || out.Shares[i].Side == schema.AnySide {
				return true
			}
			need := tp.mark(bound(Arg{Portion: PortionNeed, Column: i, Index: -1}))
			write := d.Raised
			if out.Shares[i].Side == schema.NeverPositive {
				write = d.Lowered
			}
			edits = append(edits, edit{x.Span, write(bf.g.counts[i].column, bf.p.src.sql[x.Start:x.End], need)})
			return true
		})
	}
	sql := "(" + tp.expandSQL(tp.mark(bf.g.conditions(edits))) + ")"
	for i := range bf.g.counts {
		// A slot row that another counter's portion has made says nothing of this one's base value.
		end := strconv.FormatInt(baseEnd(bf.g.counts[i].column), 10)
		sql += " AND " + bf.g.reference(bf.g.counts[i].column) + " BETWEEN -" + end + " AND " + end
	}
	return sql
}

// baseEnd is the largest magnitude of a base value that has slots, on every engine.
func baseEnd(c *schema.Column) int64 {
	if c.Bits <= 0 || c.Bits > 64 {
		return 1 << 30
	}
	return 1 << (c.Bits - 2)
}

// moveSQL writes how a portion of one counter is moved.
func (bf boundedForm) moveSQL(
	d PortionDialect, tp *template, s *PortionShare, in PortionSQL, b *names.Binding, where string, clustered bool,
) {
	n := &bf.g.counts[bf.g.share(s.Column)]
	bounds := bf.g.real.Counter.BoundsOf(s.Column)
	end := bounds.Min
	if s.Side == schema.NeverPositive {
		end = bounds.Max
	}
	c, size := bf.p.d.Quote(s.Column), tp.mark(bound(Arg{Portion: PortionSize, Index: -1}))
	in.Column, in.Ref, in.Base, in.Bound = s.Column, bf.p.names.BaseRef(bf.g.real, nil), where, strconv.FormatInt(end.Number, 10)
	if end.Column != "" {
		in.Bound = bf.p.names.Qualifier(b) + "." + bf.p.d.Quote(end.Column)
	}
	s.Move = &PortionMove{Most: mostPortion(n.column, bf.g.real.Counter.Slots), Lock: tp.expand(bf.p.d, d.LockBase(bf.g.real, in))}
	s.Move.Less = tp.expand(bf.p.d, "UPDATE "+in.Ref+" SET "+c+" = "+c+" - "+size+" WHERE "+where)
	s.Move.Give = tp.expand(bf.p.d, bf.p.d.Increment(bf.g.real, IncrementSQL{
		Ref: in.Ref, Qualifier: bf.p.names.Qualifier(b), Where: where, Slot: in.Slot,
		Deltas: []Delta{{s.Column, size}}, Clustered: clustered, Holds: true}))
}
