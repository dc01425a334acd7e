package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file plans WHERE of a group. What reads no column that the statement changes is
// the same for all members. What compares an incremented counter is a guard: the group
// demands what the most demanding member does.
//
// Guards may stand under AND and OR. A predicate of these alone never becomes false when
// one of its parts becomes true, so that the group's, whose guards each imply every
// member's, implies every member's predicate.

// turned is each comparison with its operands exchanged.
var turned = map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}

// groupGuards reads the guards of a group.
type groupGuards struct {
	g *grouper
	p *planning
}

func guardsOf(g *grouper) groupGuards { return groupGuards{g, g.p} }

// where finds the guards.
func (g *grouper) where() string {
	if g.m.st.Where == nil {
		return ""
	}
	if g.real.Triggers.Update && !g.rows.only {
		return "WHERE reads what a trigger may change"
	}
	if why := guardsOf(g).predicate(g.m.st.Where); why != "" {
		return "WHERE " + why
	}
	return ""
}

func (gg groupGuards) predicate(e *ast.Expr) string {
	e = ast.Unparen(e)
	if e.Kind == ast.Binary && (e.Op == "AND" || e.Op == "OR") && len(e.Args) == 2 {
		if why := gg.predicate(e.Args[0]); why != "" {
			return why
		}
		return gg.predicate(e.Args[1])
	}
	name := gg.g.countedIn(e)
	if name == "" {
		return gg.g.unlike(e, none)
	}
	otherwise := "compares counter " + name + " otherwise than by >, >=, < and <="
	if x := nullTest(e); x != nil {
		if n := gg.g.counts[gg.g.share(name)]; n.coalesced && n.column.Nullable {
			return otherwise
		}
		return "" // adding a number changes nothing about that
	}
	switch {
	case e.Kind == ast.Binary && len(e.Args) == 2 && turned[e.Op] != "":
		l, r, op := e.Args[0], e.Args[1], e.Op
		if gg.g.countedIn(l) == "" {
			l, r, op = r, l, turned[op]
		}
		if other := gg.g.countedIn(r); other != "" {
			return "compares counter " + name + " with counter " + other
		}
		return gg.guard(l, op, r)
	}
	return otherwise
}

// countedIn returns a counter that the statement increments and e reads, or "".
func (g *grouper) countedIn(e *ast.Expr) (name string) {
	e.Walk(func(x *ast.Expr) bool {
		if x.Kind == ast.ColumnRef && name == "" {
			if n := g.p.names.TargetColumn(g.m.sc, g.m.target, x.Name); n != "" && g.share(n) >= 0 {
				name = n
			}
		}
		return name == ""
	})
	return name
}

// guard plans l op r, where l is an incremented counter, or one plus a constant.
//
// A member that meets the counter at c + S, after what others before it have added,
// demands c + S op b: one number takes the place of b, or of the constant beside the
// counter, or is subtracted from it.
func (gg groupGuards) guard(l *ast.Expr, op string, r *ast.Expr) string {
	name := gg.g.countedIn(l)
	i := gg.g.share(name)
	n := &gg.g.counts[i]
	ops, ok := gg.p.additive(gg.g.m.sc, l, gg.g.m.table, name)
	counter := gg.g.counterIn(l)
	if !ok || len(ops) > 1 || len(ops) == 1 && !ast.Constant(ops[0].expr) {
		return "computes with counter " + name
	}
	if counter.Kind == ast.Call && n.column.Nullable && !n.coalesced {
		return "takes counter " + name + " for a number where it is NULL"
	}
	guard := Guard{Share: i, AtLeast: op[0] == '>', Max: guardMax(n.column)}
	arg := Arg{Bound: len(gg.g.group.Guards) + 1, Index: -1}
	var beside delta
	if len(ops) == 1 {
		if beside, ok = gg.p.consts.deltaOf(n.column, ops); !ok {
			return "compares counter " + name + " plus what is not a literal or a placeholder"
		}
	}
	limit, isNumber := gg.p.consts.deltaOf(n.column, []operand{{expr: r}})
	switch {
	case isNumber && (len(ops) == 0 || beside.literal != "" || limit.literal == ""):
		return gg.bind(n.column, guard, arg, operand{expr: r}, limit)
	case ast.Constant(r) && !isNumber:
		return "compares counter " + name + " with what is no number"
	}
	if !isNumber {
		if why := gg.g.unlike(r, none); why != "" {
			return why
		}
	}
	if len(ops) == 1 {
		// c - ? >= r: what stands there is the least amount that all can do without.
		beside.arg.Negate = !beside.arg.Negate
		if beside.literal != "" {
			beside.literal = negatedLiteral(beside.literal)
		}
		return gg.bind(n.column, guard, arg, operand{expr: ops[0].expr, negative: !ops[0].negative}, beside)
	}
	gg.subtract(n.column, guard, counter)
	return ""
}

// subtract has the guard hold for the counter less its bound.
func (gg groupGuards) subtract(c *schema.Column, guard Guard, counter *ast.Expr) {
	arg := Arg{Bound: len(gg.g.group.Guards) + 1, Index: -1}
	sql := gg.p.src.sql[counter.Start:counter.End]
	less := "(" + sql + " - " + gg.g.sumText(c, arg) + ")"
	if d, ok := gg.p.d.(GroupingDialect); ok {
		less = d.Less(sql, gg.g.sumText(c, arg))
	}
	before, after, _ := strings.Cut(less, sql)
	gg.g.group.Guards = append(gg.g.group.Guards, guard)
	gg.g.edits = append(gg.g.edits, edit{ast.At(counter.Start), before}, edit{ast.At(counter.End), after})
}

// bind puts a bound in the place of the number or placeholder that a member has there.
func (gg groupGuards) bind(c *schema.Column, guard Guard, arg Arg, op operand, d delta) string {
	if d.literal != "" {
		n, ok := gg.g.literalUnits(c, d)
		if !ok || n > guard.Max || n < -guard.Max {
			return "compares counter " + c.Name + " with a number that is too large or has too many digits"
		}
		guard.Literal.same = n
	} else {
		a := d.arg
		guard.Arg = &a
	}
	at, flip, ok := gg.g.amount(op.expr, op.negative)
	if !ok {
		return "compares counter " + c.Name + " with a number at a place that slotsql cannot tell"
	}
	arg.Negate = flip
	gg.g.used(c, op.expr, d)
	gg.g.edit(at, gg.g.sumText(c, arg))
	gg.g.group.Guards = append(gg.g.group.Guards, guard)
	return ""
}

// counterIn returns the counter in a sum, with the COALESCE around it.
func (g *grouper) counterIn(e *ast.Expr) (found *ast.Expr) {
	e.Walk(func(x *ast.Expr) bool {
		if found == nil && (x.Kind == ast.ColumnRef || g.p.consts.coalesces(x)) && g.countedIn(x) != "" {
			found = x
		}
		return found == nil
	})
	return found
}

// guardMax is the largest magnitude of a bound.
func guardMax(c *schema.Column) int64 {
	if c.Numeric == schema.Integer && (c.Bits <= 0 || c.Bits >= 64) {
		return 1 << 42
	}
	return shareMax(c)
}

func negatedLiteral(s string) string {
	if s[0] == '-' {
		return s[1:]
	}
	return "-" + s
}
