package session

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// value returns the application's argument that a plan's argument stands for.
func (r *Run) value(a rewrite.Arg) (driver.NamedValue, bool) {
	if a.Index < 0 && a.Number != "" {
		n, err := strconv.ParseInt(a.Number, 10, 64)
		return driver.NamedValue{Value: n}, err == nil
	}
	if a.Name != "" {
		for _, v := range r.call.args {
			if v.Name == a.Name {
				return v, true
			}
		}
		return driver.NamedValue{}, false
	}
	if a.Index < 0 || a.Index >= len(r.call.args) {
		return driver.NamedValue{}, false
	}
	return r.call.args[a.Index], true
}

// bind makes the argument list of one of the plan's own statements.
func (r *Run) bind(args []rewrite.Arg) ([]driver.NamedValue, error) {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if a.Slot {
			out[i] = driver.NamedValue{Ordinal: i + 1, Value: r.slot}
			continue
		}
		if r.sums != nil {
			if v, ok := r.sums.value(r.Plan.Group, a); ok {
				out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
				continue
			}
		}
		if a.Total > 0 {
			share := r.Plan.Increment.Coalesced.Shares[a.Total-1]
			out[i] = driver.NamedValue{Ordinal: i + 1, Value: slots.Decimal(r.batch.Rows[0].Sums[a.Total-1], share.Scale)}
			continue
		}
		if a.Portion != rewrite.NoPortion {
			out[i] = driver.NamedValue{Ordinal: i + 1, Value: r.take.number(a)}
			continue
		}
		if a.Many != rewrite.NotMany {
			out[i] = driver.NamedValue{Ordinal: i + 1, Value: r.batch.Value(a, r.Plan.Increment.Coalesced.Shares)}
			continue
		}
		v, ok := r.value(a)
		if !ok {
			return nil, fmt.Errorf("%w: %s", errNoArgument, placeholderName(a))
		}
		if a.Negate {
			v.Value = negated(v.Value)
		}
		if a.Plus != nil {
			v.Value = r.added(v.Value, *a.Plus)
		}
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v.Value}
	}
	return out, nil
}

// added returns the sum of a LIMIT, an OFFSET and a number of extra rows, by which one of slotsql's own queries reads no more
// rows than it must. If one of them is not known to be a whole number, it reads all: the application's own LIMIT, which is
// still there, means what it means to the server.
func (r *Run) added(v any, plus rewrite.Arg) int64 {
	other, _ := r.value(plus)
	if plus.Plus != nil {
		other.Value = r.added(other.Value, *plus.Plus)
	}
	a, ok := rowCount(v)
	b, also := rowCount(other.Value)
	if !ok || !also || a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

var errNoArgument = errors.New("slotsql: an argument of the statement is missing")

// hasAllArgs reports whether every placeholder of the drain has an argument. A statement that
// lacks one cannot run, so it needs no drain.
func (r *Run) hasAllArgs() bool {
	for _, d := range r.Plan.Drain.Tables {
		for _, a := range d.Rows.Args {
			if _, ok := r.value(a); !ok {
				return false
			}
		}
	}
	return true
}

func placeholderName(a rewrite.Arg) string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprint(a.Index + 1)
}

// baseFits reports whether the arguments allow the original statement to run on the base table
// without a drain.
func (r *Run) baseFits() bool {
	return r.coversCases() && r.fits(r.Plan.Base.Require, true)
}

// coversCases reports whether every argument that a CASE without ELSE compares is among those that
// it names.
func (r *Run) coversCases() bool {
	for _, c := range r.Plan.Base.Cover {
		v, ok := r.value(c.Arg)
		if !ok || !r.among(v.Value, c) {
			return false
		}
	}
	return true
}

func (r *Run) among(v any, c rewrite.Cover) bool {
	for _, a := range c.In {
		if w, ok := r.value(a); ok && sameConstant(v, w.Value, c.Number) {
			return true
		}
	}
	return false
}

// sameConstant reports whether two arguments are certainly the same to the engine.
func sameConstant(a, b any, number bool) bool {
	if number {
		n, ok := integerOf(a)
		m, also := integerOf(b)
		return ok && also && n == m
	}
	s, ok := a.(string)
	t, also := b.(string)
	return ok && also && s == t
}

// fits reports whether deltas, with their arguments, meet the demands of the plan. Engines differ
// in what an increment by nothing affects, so at least one delta must not be zero, unless nonZero
// is set.
func (r *Run) fits(deltas []rewrite.DeltaArg, nonZero bool) bool {
	for _, d := range deltas {
		v, ok := r.value(d.Arg)
		if !ok {
			return false
		}
		if d.Each {
			if !r.eachFits(d, v.Value) {
				return false
			}
			continue
		}
		zero, ok := checkDelta(d, v.Value)
		if !ok || d.Scale == 0 && !d.NonNegative && r.isUnsigned(v.Value) {
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

// noNumbers reports whether none of the arguments is a number.
func (r *Run) noNumbers(list []rewrite.Arg) bool {
	for _, a := range list {
		if v, ok := r.value(a); !ok || mayBeNumber(v.Value) {
			return false
		}
	}
	return true
}

// columnsAccept reports whether the columns certainly accept their values.
func (r *Run) columnsAccept(list []rewrite.InsertedArg) bool {
	for _, g := range list {
		if v, ok := r.value(g.Arg); !ok || !columnAccepts(g, v.Value) {
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
