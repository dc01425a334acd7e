package argument

import (
	"strings"
	"time"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// What the arguments fit: a slot, the base row as it is, a column, a key.

// FitSlot reports whether the arguments allow an increment to go to a slot.
func (l List) FitSlot(inc *rewrite.Increment) bool {
	if !l.NoNumbers(inc.NotNumber) || !l.FormsMatch(inc.Forms) || !l.ColumnsAccept(inc.Inserted) {
		return false
	}
	for _, a := range inc.Args {
		if a.Slot {
			continue
		}
		if _, ok := l.Value(a); !ok {
			return false
		}
	}
	return l.Fit(inc.Deltas, inc.NonZero)
}

// AgainstSide reports whether a slot cannot take what the increment adds, because the counter has
// bounds and its slots only hold portions of the other sign.
func (l List) AgainstSide(deltas []rewrite.DeltaArg) bool {
	for _, d := range deltas {
		if d.Side == schema.AnySide {
			continue
		}
		v, ok := l.Value(d.Arg)
		d.NonNegative = true
		if d.Side == schema.NeverPositive {
			d.Arg.Negate = !d.Arg.Negate
		}
		if _, fits := checkDelta(d, v.Value); ok && !fits {
			return true
		}
	}
	return false
}

// FitBase reports whether the arguments allow the original statement to run on the base table
// without a drain.
func (l List) FitBase(b *rewrite.BasePlan) bool {
	return l.Fit(b.Require, true)
}

// Fit reports whether deltas, with their arguments, meet the demands of the plan. Engines differ
// in what an increment by nothing affects, so at least one delta must not be zero, unless nonZero
// is set.
func (l List) Fit(deltas []rewrite.DeltaArg, nonZero bool) bool {
	for _, d := range deltas {
		v, ok := l.Value(d.Arg)
		if !ok {
			return false
		}
		zero, ok := checkDelta(d, v.Value)
		if !ok || d.Scale == 0 && !d.NonNegative && l.unsigned(v.Value) {
			return false
		}
		nonZero = nonZero || !zero
	}
	return nonZero
}

func checkDelta(d rewrite.DeltaArg, v any) (zero, ok bool) {
	switch kind, n, text := readArgument(v); kind {
	case signedArgument:
		if n < -d.Max || n > d.Max {
			return false, false
		}
		if d.Arg.Negate {
			n = -n
		}
		return n == 0, n >= 0 || !d.NonNegative
	case unsignedArgument:
		return n == 0, uint64(n) <= uint64(d.Max) && (n == 0 || !d.NonNegative || !d.Arg.Negate)
	case textArgument:
		return checkDecimal(d, text)
	}
	return false, false
}

// checkDecimal checks a delta given as text, for DECIMAL counters only.
func checkDecimal(d rewrite.DeltaArg, s string) (zero, ok bool) {
	if d.Scale <= 0 {
		return false, false
	}
	negative := strings.HasPrefix(s, "-")
	whole, frac, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if whole == "" || point && frac == "" || len(whole) > 15 || len(frac) > d.Scale || strings.Trim(whole+frac, "0123456789") != "" {
		return false, false
	}
	var n int64
	for _, c := range []byte(whole) {
		n = n*10 + int64(c-'0')
	}
	zero = strings.Trim(whole+frac, "0") == ""
	if d.NonNegative && !zero && negative != d.Arg.Negate {
		return false, false
	}
	return zero, n <= d.Max
}

// NoNumbers reports whether none of the arguments is a number.
func (l List) NoNumbers(list []rewrite.Arg) bool {
	for _, a := range list {
		if v, ok := l.Value(a); !ok || mayBeNumber(v.Value) {
			return false
		}
	}
	return true
}

// ColumnsAccept reports whether the columns certainly accept their values.
func (l List) ColumnsAccept(list []rewrite.InsertedArg) bool {
	for _, g := range list {
		if v, ok := l.Value(g.Arg); !ok || !columnAccepts(g, v.Value) {
			return false
		}
	}
	return true
}

// columnAccepts reports whether a column certainly accepts a value.
func columnAccepts(g rewrite.InsertedArg, v any) bool {
	switch v := v.(type) {
	case nil:
		return g.Nullable
	case time.Time:
		return g.Time && v.Year() > 1970 && v.Year() < 2038 // MySQL's TIMESTAMP
	case []byte:
		if v == nil {
			return g.Nullable
		}
	case float64, bool:
		return g.Number
	}
	switch kind, n, text := readArgument(v); kind {
	case signedArgument:
		return g.Integer && n >= g.Low && (n < 0 || uint64(n) <= g.High)
	case unsignedArgument:
		return g.Integer && uint64(n) <= g.High
	case textArgument:
		return g.Takes(text)
	}
	return false
}

// negated returns -v for a value that checkDelta has passed.
func negated(v any) any {
	kind, n, text := readArgument(v)
	if kind == textArgument {
		return negatedText(text)
	}
	return -n
}

func negatedText(s string) string {
	if t, ok := strings.CutPrefix(s, "-"); ok {
		return t
	}
	return "-" + s
}

// FormsMatch reports whether arguments are written as the engine stores keys, so that it certainly
// compares them as such.
func (l List) FormsMatch(forms []rewrite.FormArg) bool {
	for _, f := range forms {
		v, ok := l.Value(f.Arg)
		if !ok {
			return false
		}
		switch x := v.Value.(type) {
		case time.Time:
		case string:
			ok = f.Form.Fits(x)
		case []byte:
			ok = f.Form.Fits(string(x))
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}
