package argument

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// What executions add that share a statement, and what they demand.

// GivesKey reports whether the arguments of an upsert give a key on which a second execution would
// conflict.
func (l List) GivesKey(u *rewrite.UpsertGroup) bool {
	for _, k := range u.Keys {
		v, ok := l.Value(k.Arg)
		if !ok || mayBeNull(v.Value) {
			return false
		}
		if n, whole := Integer(v.Value); k.Numbered && (!whole || n == 0) {
			return false
		}
	}
	return true
}

// Sign returns - or + for a number, and 0 for zero.
func Sign(n int64) byte { return "-0+"[1+cmp.Compare(n, 0)] }

// AddsNumber is Adds, but for numbers only: an engine may read a string as another number.
func (l List) AddsNumber(s rewrite.Share) (int64, bool) {
	if s.Arg != nil && s.Scale == 0 {
		if v, ok := l.Value(*s.Arg); !ok || !isInteger(v.Value) {
			return 0, false
		}
	}
	return l.Adds(s)
}

// Begins returns what the execution has a new row begin with, which adds n to one that is there.
func (l List) Begins(s rewrite.Share, n int64) (int64, bool) {
	if s.First == nil {
		return n, true
	}
	s.Literal, s.Arg = s.First.Literal, s.First.Arg
	return l.AddsNumber(s)
}

// Demands returns the bound that the execution demands of a counter, in units of the last of its scale digits after the decimal point.
func (l List) Demands(g rewrite.Guard, scale int) (int64, bool) {
	if g.Arg == nil {
		return g.Literal.Of(l.Values), true
	}
	v, ok := l.Value(*g.Arg)
	if !ok || scale == 0 && !isInteger(v.Value) {
		return 0, false
	}
	n, ok := units(v.Value, scale)
	if g.Arg.Negate {
		n = -n
	}
	return n, ok && n >= -g.Max && n <= g.Max
}

// Term returns a number of the statement; false if it is not an integer, or too large.
func (l List) Term(t rewrite.Term) (int64, bool) {
	if t.Arg == nil {
		return t.Literal.Of(l.Values), true
	}
	v, ok := l.Value(*t.Arg)
	if !ok {
		return 0, false
	}
	n, ok := Integer(v.Value)
	if t.Arg.Negate {
		n = -n
	}
	return n, ok && n <= rewrite.MaxTerm && n >= -rewrite.MaxTerm
}

// Adds returns what the execution adds to a counter, in units of its last digit.
func (l List) Adds(s rewrite.Share) (int64, bool) {
	if s.Arg == nil {
		return s.Literal.Of(l.Values), true
	}
	v, ok := l.Value(*s.Arg)
	if !ok {
		return 0, false
	}
	n, ok := units(v.Value, s.Scale)
	if s.Arg.Negate {
		n = -n
	}
	return n, ok && n >= -s.Max && n <= s.Max
}

// units returns a number in units of the last of scale digits after the decimal point; false if it
// is no number, or has more digits.
func units(v any, scale int) (int64, bool) {
	kind, n, text := readArgument(v)
	switch kind {
	case signedArgument, unsignedArgument:
		least := int64(0)
		if kind == signedArgument {
			least = -maxUnits
		}
		return n * int64(math.Pow10(scale)), n >= least && n <= maxUnits
	case textArgument:
		return decimalUnits(text, scale)
	}
	return 0, false
}

// maxUnits times ten to the largest scale is within 64 bits.
const maxUnits = 1 << 42

func decimalUnits(s string, scale int) (int64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > scale || len(whole) > 13 {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", scale-len(frac)), 10, 64)
	return n, err == nil
}

// UnsignedShares reports for each of a group's shares whether what is added is sent as an unsigned number; nil if none is.
func (l List) UnsignedShares(list []rewrite.Share) (out []bool) {
	for i, s := range list {
		if s.Arg == nil || s.Scale != 0 {
			continue
		}
		if v, _ := l.Value(*s.Arg); l.unsigned(v.Value) {
			if out == nil {
				out = make([]bool, len(list))
			}
			out[i] = true
		}
	}
	return out
}

// Steps reports whether an execution that affects its row certainly changes the version.
func (l List) Steps(s *rewrite.VersionStep) bool {
	if s == nil {
		return false
	}
	from, ok := l.Term(s.Expects)
	to, also := l.Term(s.Sets)
	if s.Adds {
		to += from
	}
	return ok && also && to != from && to >= s.Low && to <= s.High
}
