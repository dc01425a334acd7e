package rewrite

import (
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Coalesced is an increment that many executions share. Its statements are those of the
// increment with the deltas as arguments, so that one statement adds what all of them
// add.
//
// That is exact for executions that overlap in time and are each in their own
// transaction. The statement begins after each of them has begun, and is committed before
// any of them ends, so its result is that of one of the serial orders of the plain
// statements. Two executions may share one if the SQL of Upsert and its arguments are the
// same for both, except for arguments that are Slot, Total or Free.
type Coalesced struct {
	Upsert  Bound
	Holding *Bound // as Increment.Holding
	Add     *Bound // as Increment.Add
	// Shares are what an execution adds, in the order of the Total arguments.
	Shares []Share
}

// Share is what one execution adds to one counter, in units of the counter's
// last digit: a number in the statement, or an argument.
type Share struct {
	Literal Literal
	Arg     *Arg
	// Scale is the counter's number of digits behind the point.
	Scale int
	// Max is the largest magnitude that one statement may add.
	Max int64
	// First is what a new row of an upsert begins with, where that is not what is added.
	First *FirstNumber
	// Ticket reports whether the counter has tickets.
	Ticket bool
}

// FirstNumber is a number in the statement, or an argument, in units of the counter's last digit.
type FirstNumber struct {
	Literal Literal
	Arg     *Arg
}

// KeyNumber is the value of an integer column of the key: a number in
// the statement, or an argument.
type KeyNumber struct {
	Literal Literal
	Arg     *Arg
}

// maxShareScale keeps what a statement may add to a decimal within 64 bits.
const maxShareScale = 6

// coalesced is the shared form of a slotted upsert. It has none where the
// configuration forbids it, and where WHERE is more than comparisons of columns
// and constants: what a function or a variable is may differ between two
// executions.
func (sw slotWriter) coalesced(a assigned, in IncrementSQL, tp *template, rows *rowset) *Coalesced {
	if !sw.m.table.Counter.Options.Coalesce || !sw.comparisons(sw.m.st.Where) {
		return nil
	}
	out := &Coalesced{}
	in.Deltas = nil
	for i, inc := range a.increments {
		d, ok := sw.p.consts.deltaOf(inc.column, inc.ops)
		largest, scale := limit(inc.column)
		if !ok || scale > maxShareScale || inc.column.Numeric == schema.Decimal && inc.column.Precision == 0 {
			return nil // PostgreSQL's plain numeric keeps the digits of what was added
		}
		s := Share{Scale: scale, Max: d.most(largest)}
		for range scale {
			s.Max *= 10
		}
		if d.literal == "" {
			s.Arg = &d.arg
		} else {
			s.Literal.same = scaled(d.literal, scale)
		}
		out.Shares = append(out.Shares, s)
		in.Deltas = append(in.Deltas, Delta{inc.column.Name, tp.mark(bound(Arg{Total: i + 1, Index: -1}))})
	}
	in.Companions = nil
	for _, s := range a.companions {
		value := s.value
		if s.companion.Merge == schema.Latest {
			// Of several that overlap any may be the latest.
			value.args = nil
			for _, arg := range s.value.args {
				arg.Free = true
				value.args = append(value.args, arg)
			}
		}
		in.Companions = append(in.Companions, CompanionSQL{Companion: *s.companion, SQL: tp.mark(value), NotNull: !s.sure})
	}
	out.Upsert = tp.expand(sw.p.d, sw.p.d.Increment(sw.m.table, in))
	out.Holding = sw.holding(in, tp, out.Upsert)
	out.Add, _ = sw.addSQL(tp, in, rows, false)
	return out
}

// keyNumber reads an argument, or a literal of a whole number as it is usually
// written.
func keyNumber(f fragment) (KeyNumber, bool) {
	switch {
	case len(f.args) == 1 && strings.TrimSpace(f.parts[0]+f.parts[1]) == "":
		return KeyNumber{Arg: &f.args[0]}, true
	case len(f.args) == 0 && len(f.parts) == 1:
		sql := strings.TrimSpace(f.parts[0])
		n, err := strconv.ParseInt(sql, 10, 64)
		return KeyNumber{Literal: Literal{same: n}}, err == nil && strconv.FormatInt(n, 10) == sql
	}
	return KeyNumber{}, false
}

// comparisons reports whether a predicate is made of columns, constants and
// operators.
func (sw slotWriter) comparisons(where *ast.Expr) bool {
	if where == nil {
		return true
	}
	ok := true
	where.Walk(func(e *ast.Expr) bool {
		switch e.Kind {
		case ast.ColumnRef, ast.Number, ast.String, ast.Null, ast.Param, ast.Binary, ast.Unary, ast.Paren, ast.In:
		default:
			ok = false
		}
		return ok
	})
	return ok && sw.p.volatility.reason(sw.m.sc, where) == ""
}

// scaled returns a decimal literal in units of its last digit; the literal has
// no more of them than scale, zeros at the end apart.
func scaled(literal string, scale int) int64 {
	digits := strings.TrimPrefix(literal, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	frac = (frac + strings.Repeat("0", scale))[:scale]
	var n int64
	for _, c := range []byte(whole + frac) {
		n = n*10 + int64(c-'0')
	}
	if digits != literal {
		n = -n
	}
	return n
}
