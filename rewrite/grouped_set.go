package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans SET of a group: what is added becomes a sum, and an ordinary column
// takes the value that the last member gives it.
//
// All values between the first and the last are met by no statement of a group. They
// lie between the two, since members add numbers of one sign, so that a range holds for
// them when it holds at both ends. What does not hold for all of a range, such as a
// unique key, keeps a counter out.

// set sorts the assignments and puts sums in the place of deltas.
func (g *grouper) set() string {
	for _, a := range g.m.st.Set {
		name, has := names.Column(g.p.d, g.m.table, a.Column[len(a.Column)-1])
		if !has || !g.p.names.Qualifies(g.m.target, a.Column) {
			return "cannot tell which column " + a.Column[len(a.Column)-1].Name + " is"
		}
		if a.Value != nil {
			if e := ast.Unparen(a.Value); e.Kind == ast.ColumnRef && g.p.names.TargetColumn(g.m.sc, g.m.target, e.Name) == name {
				continue // it stays as it is
			}
		}
		if g.varies[name] {
			return "the statement assigns " + name + " twice"
		}
		g.varies[name] = true
		var why string
		switch c := g.m.table.Column(name); {
		case g.m.table.ChangesKey(name):
			why = "the statement changes a key"
		case g.m.table.IsCounter(name):
			why = g.count(c, a.Value)
		default:
			g.assigns = append(g.assigns, assigning{c, a.Value})
		}
		if why != "" {
			return why
		}
	}
	if why := g.implies(); why != "" {
		return why
	}
	return g.shares()
}

// implies adds the columns that the engine changes along with those of SET.
func (g *grouper) implies() string {
	for i := range g.counts {
		g.counted[g.counts[i].column.Name] = true
	}
	for i := range g.m.table.Columns {
		c := &g.m.table.Columns[i]
		if !c.OnUpdate || g.varies[c.Name] {
			continue
		}
		g.varies[c.Name] = true
	}
	for changed := true; changed; {
		changed = false
		for i := range g.m.table.Columns {
			c := &g.m.table.Columns[i]
			for _, d := range c.DependsOn {
				if c.Generated && (g.varies[d] && !g.varies[c.Name] || g.counted[d] && !g.counted[c.Name]) {
					g.varies[c.Name], g.counted[c.Name] = true, g.counted[c.Name] || g.counted[d]
					changed = true
				}
			}
		}
	}
	return ""
}

// count takes in the increment of one counter.
func (g *grouper) count(c *schema.Column, value *ast.Expr) string {
	sets := setsCounter + c.Name
	if value == nil {
		return sets
	}
	e := g.insertID(value)
	ops, ok := g.p.additive(g.m.sc, e, g.m.table, c.Name)
	if !ok || len(ops) == 0 {
		return sets
	}
	d, ok := g.p.consts.deltaOf(c, ops)
	if !ok {
		return "what is added to counter " + c.Name + " is not a literal or a placeholder"
	}
	if why := g.addable(c, d); why != "" {
		return why
	}
	n := counting{column: c, delta: d, operand: ops[0]}
	fits := true
	e.Walk(func(x *ast.Expr) bool {
		if g.p.consts.coalesces(x) {
			n.coalesced = true
			arg, why := g.p.consts.checkInserted(c, x.Args[1])
			if arg != nil && c.Nullable { // members have it in common
				arg.Nullable = false
				g.group.Inserted = append(g.group.Inserted, *arg)
			}
			fits = why == "" && ast.Unparen(x.Args[1]).Kind != ast.Null
		}
		return true
	})
	if c.Nullable && !fits {
		return "the number that counter " + c.Name + " is taken for where it is NULL may not fit it"
	}
	g.counts = append(g.counts, n)
	if e != value {
		if g.group.InsertID > 0 {
			return "the statement sets the last insert ID twice"
		}
		g.group.InsertID = len(g.counts)
	}
	return ""
}

// addable names why a sum of many deltas is not what they come to one by one.
func (g *grouper) addable(c *schema.Column, d delta) string {
	t, traits := g.real, g.p.d.Traits()
	switch {
	case c.Numeric == schema.Float:
		return "sums of floating-point numbers depend on their order"
	case c.Numeric != schema.Integer && (c.Numeric != schema.Decimal || traits.AnyType):
		return "counter " + c.Name + " has a type whose sums are not exact"
	case c.Numeric == schema.Decimal && c.Precision == 0:
		return "counter " + c.Name + " keeps the digits of what is added"
	case c.Scale > maxShareScale:
		return "counter " + c.Name + " has too many digits behind the point"
	case d.float:
		return "a string that is added to counter " + c.Name + " is a floating-point number"
	case c.Domain != "":
		return "counter " + c.Name + " is of a domain, which may have conditions of its own"
	case traits.AnyType && strings.Contains(d.literal, "."):
		return "what is added to counter " + c.Name + " is a floating-point number"
	case t.Counter.Unslotted.IsRetired(c.Name):
		return retired(c.Name)
	}
	return ""
}

// shares writes the sums, once it is known which columns the statement changes.
func (g *grouper) shares() string {
	for i := range g.counts {
		n := &g.counts[i]
		if why := g.bounded(n.column.Name); why != "" {
			return why
		}
		s := Share{Scale: n.column.Scale, Max: shareMax(n.column), Ticket: g.real.Counter.TicketsOf(n.column.Name) != nil}
		if n.column.Numeric == schema.Integer {
			s.Scale = 0
		}
		if n.delta.literal != "" {
			var ok bool
			if s.Literal.same, ok = g.literalUnits(n.column, n.delta); !ok || s.Literal.same > s.Max || s.Literal.same < -s.Max {
				return "what is added to counter " + n.column.Name + " is too large or has too many digits"
			}
			if s.Literal.same == 0 {
				return "the statement adds nothing to counter " + n.column.Name
			}
		} else {
			arg := n.delta.arg
			s.Arg = &arg
			s.Max = min(s.Max, n.delta.most(s.Max))
		}
		at, flip, ok := g.amount(n.operand.expr, n.operand.negative)
		if !ok {
			return "cannot tell where what is added to counter " + n.column.Name + " stands"
		}
		if n.first != nil {
			if s.First, ok = upsertOf(g).firstNumber(n.column, *n.first, s.Max); !ok {
				return "what counter " + n.column.Name + " of a new row begins with is too large or has too many digits"
			}
			g.used(n.column, n.operand.expr, *n.first)
		} else {
			g.used(n.column, n.operand.expr, n.delta)
		}
		g.group.Shares = append(g.group.Shares, s)
		g.edit(at, g.sumText(n.column, Arg{Total: i + 1, First: n.first != nil, Index: -1, Negate: flip}))
		if d, ok := g.p.d.(GroupingDialect); ok {
			if fits := d.Stores(n.column, g.reference(n.column), g.sumText(n.column, Arg{Total: i + 1, Index: -1})); fits != "" {
				g.also = append(g.also, fits)
			}
		}
	}
	return ""
}

// bounded names what keeps a counter from passing over values unseen: a constraint that
// holds at both ends need not hold for what lies between.
func (g *grouper) bounded(counter string) string {
	with := func(c string) bool { return c == counter || g.counted[c] }
	if u := g.real.UniqueOver(with); u != nil {
		return "counter " + counter + " is part of the unique key " + u.Name
	}
	if why := g.real.Tied(with); why != "" {
		return "counter " + counter + " " + why
	}
	if why := checksOf(g).computedFrom(counter); why != "" {
		return why
	}
	return checksOf(g).checked(counter)
}

// shareMax is the largest magnitude that one statement may add: what the column's type
// holds, and a session adds up.
func shareMax(c *schema.Column) int64 {
	if c.Numeric == schema.Decimal {
		largest, scale := limit(c)
		for range scale {
			largest *= 10
		}
		return largest
	}
	if c.Bits <= 0 || c.Bits >= 64 {
		return 1 << 40
	}
	return 1<<(c.Bits-1) - 1
}

// literalUnits returns a literal in units of the column's last digit.
func (g *grouper) literalUnits(c *schema.Column, d delta) (int64, bool) {
	scale := 0
	if c.Numeric == schema.Decimal {
		scale = c.Scale
	}
	whole, frac, _ := strings.Cut(strings.TrimPrefix(d.literal, "-"), ".")
	if len(strings.TrimLeft(whole, "0")) > 12 || len(strings.TrimRight(frac, "0")) > scale {
		return 0, false
	}
	return scaled(d.literal, scale), true
}

// amount finds the number or placeholder in an operand. A sign goes with it where it
// stands right before; flip reports whether what stands there is subtracted.
func (g *grouper) amount(e *ast.Expr, negative bool) (at ast.Span, flip, ok bool) {
	for {
		switch {
		case e.Kind == ast.Paren:
			e = e.Args[0]
		case e.Kind == ast.Unary && (e.Op == "-" || e.Op == "+"):
			x := e.Args[0]
			if (x.Kind == ast.Number || x.Kind == ast.Param) && x.End == e.End && g.p.src.sql[e.Start:e.Start+1] == e.Op && g.tokenAt(x.Span) {
				return e.Span, negative, true
			}
			e, negative = x, negative != (e.Op == "-")
		case e.Kind == ast.Opaque && len(e.Args) == 1:
			e = e.Args[0]
		default:
			return e.Span, negative, (e.Kind == ast.Number || e.Kind == ast.Param || e.Kind == ast.String) && g.tokenAt(e.Span)
		}
	}
}

// tokenAt reports whether a span is that of one token, or of a number and its sign.
func (g *grouper) tokenAt(sp ast.Span) bool {
	for _, t := range g.p.src.tokens {
		if t.Start >= sp.Start {
			return t.Start == sp.Start && t.End == sp.End ||
				t.Start == sp.Start && g.p.src.sql[sp.Start] == '-' && g.tokenAt(ast.Span{Start: g.p.src.nextToken(t.End), End: sp.End})
		}
	}
	return false
}

// used notes the type that a column gives a placeholder.
func (g *grouper) used(c *schema.Column, e *ast.Expr, d delta) {
	if d.literal != "" {
		return
	}
	x, _ := ast.Signed(e, false)
	typ := c.Type
	if inner, _ := g.p.consts.castNumber(x); inner != nil {
		typ = "::" + g.p.consts.castType(x)
	}
	arg := d.arg
	arg.Negate = false
	g.uses[arg] = append(g.uses[arg], typ)
}

// assigned has each ordinary column take one value: the same for all members, or an
// argument of the last one.
func (g *grouper) assigned() string {
	for _, a := range g.assigns {
		if a.value == nil { // DEFAULT
			if g.returned[a.column.Name] {
				return "RETURNING tells the default of " + a.column.Name + ", which may differ between executions"
			}
			continue
		}
		if why := g.unlike(a.value, none); why != "" {
			return "the value of " + a.column.Name + " " + why
		}
		if why := differ(g, a, false); why != "" {
			return why
		}
	}
	return ""
}

// differ lets members differ in the argument or the literal that an ordinary column is set to, where they may: the last one's counts, or
// the first one's.
func differ(g *grouper, a assigning, first bool) string {
	arg := g.free(a)
	if arg == nil {
		if g.ownSQL && g.mayDiffer(a.column) && literalFits(g, a) {
			g.literals = append(g.literals, edit{a.value.Span, leftOut})
		}
		return ""
	}
	g.group.Inserted = append(g.group.Inserted, *arg)
	free := arg.Arg
	free.Free, free.First = true, first
	at, _, ok := g.amount(a.value, false)
	if !ok {
		return "cannot tell where the value of " + a.column.Name + " stands"
	}
	g.edit(at, g.tp.mark(bound(free)))
	return ""
}

// free returns the argument that an ordinary column is set to, and what it must be for
// the column to take it for certain; nil where members must agree on it: they see it,
// or the engine might refuse the value of one of them.
func (g *grouper) free(a assigning) *InsertedArg {
	if g.group.CompareAndSet != nil {
		return swapsOf(g).bindable(a)
	}
	if !g.mayDiffer(a.column) || ast.Unparen(a.value).Kind != ast.Param {
		return nil
	}
	arg, why := g.p.consts.checkInserted(a.column, a.value)
	if why != "" {
		return nil
	}
	return arg
}

// leftOut stands in SameSQL for a literal in which members may differ. No statement has it.
const leftOut = "\x01"

// mayDiffer reports whether members may set an ordinary column to different values, if it takes these for certain. Of a compare and set
// only one member's is ever stored.
func (g *grouper) mayDiffer(c *schema.Column) bool {
	if g.group.CompareAndSet != nil {
		return c.Domain == ""
	}
	itself := func(name string) bool { return name == c.Name }
	return !(g.touch && g.p.d.Traits().CountsChanged) && !g.returned[c.Name] && c.Domain == "" && !c.Generated &&
		!slices.Contains(g.real.Checked, c.Name) && g.real.UniqueOver(itself) == nil && g.real.Tied(itself) == "" &&
		checksOf(g).computes(c.Name) == ""
}

// literalFits reports whether an ordinary column is set to a literal that it certainly takes.
func literalFits(g *grouper, a assigning) bool {
	switch e := ast.Unparen(a.value); e.Kind {
	case ast.String, ast.Number, ast.Null:
		_, why := g.p.consts.checkInserted(a.column, e)
		return why == ""
	}
	return false
}
