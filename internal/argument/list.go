// Package argument reads the arguments of a statement's execution: which value each argument of a plan stands for, and whether the values
// are such that the plan's statements are exact with them. It is pure, and knows neither connections nor what runs.
package argument

import (
	"database/sql/driver"
	"math"
	"strconv"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// List is the arguments of one execution of a plan.
type List struct {
	Args   []driver.NamedValue
	Values *rewrite.FieldValues // of the plan's literals
	// SendsUnsigned reports whether the parent sends an unsigned number as such. The server then computes a sum of it and
	// a signed column as an unsigned number, and refuses one below zero.
	SendsUnsigned bool
}

// Value returns the application's argument that a plan's argument stands for.
func (l List) Value(a rewrite.Arg) (driver.NamedValue, bool) {
	if a.Index < 0 && a.Number != "" {
		n, err := strconv.ParseInt(a.Number, 10, 64)
		return driver.NamedValue{Value: n}, err == nil
	}
	if a.Name != "" {
		for _, v := range l.Args {
			if v.Name == a.Name {
				return v, true
			}
		}
		return driver.NamedValue{}, false
	}
	if a.Index < 0 || a.Index >= len(l.Args) {
		return driver.NamedValue{}, false
	}
	return l.Args[a.Index], true
}

// Has reports whether every placeholder of drains has an argument.
func (l List) Has(tables []rewrite.DrainTable) bool {
	for _, d := range tables {
		for _, a := range d.Rows.Args {
			if _, ok := l.Value(a); !ok {
				return false
			}
		}
	}
	return true
}

// Changed returns what is bound in place of the value of an argument that the plan negates, or adds to.
func (l List) Changed(a rewrite.Arg, v any) any {
	if a.Negate {
		v = negated(v)
	}
	if a.Plus != nil {
		v = l.added(v, *a.Plus)
	}
	return v
}

// added returns the sum of a LIMIT, an OFFSET and a number of extra rows, by which one of slotsql's own queries reads no more
// rows than it must. If one of them is not known to be a whole number, it reads all: the application's own LIMIT, which is
// still there, means what it means to the server.
func (l List) added(v any, plus rewrite.Arg) int64 {
	other, _ := l.Value(plus)
	if plus.Plus != nil {
		other.Value = l.added(other.Value, *plus.Plus)
	}
	a, ok := rowCount(v)
	b, also := rowCount(other.Value)
	if !ok || !also || a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Common appends the arguments that all executions of a shared statement have in common; false
// if one has a type whose equality is not plain.
func (l List) Common(b []byte, args []rewrite.Arg) ([]byte, bool) {
	for _, a := range args {
		if a.Slot || a.Total > 0 || a.Bound > 0 || a.Free {
			continue
		}
		v, ok := l.Value(a)
		if !ok {
			return nil, false
		}
		b = append(b, ',')
		switch x := v.Value.(type) {
		case time.Time: // all that a driver may write of it
			b, v.Value = append(b, 't'), x.String()
		case float64:
			b, v.Value = append(b, 'f'), strconv.FormatUint(math.Float64bits(x), 10)
		}
		if b, ok = AppendValue(b, v); !ok {
			return nil, false
		}
	}
	return b, true
}

// AppendValue appends an argument in a form in which different values differ; false for a type
// whose equality is not plain.
func AppendValue(b []byte, v driver.NamedValue) ([]byte, bool) {
	switch x := v.Value.(type) {
	case int64:
		return strconv.AppendInt(b, x, 10), true
	case int:
		return strconv.AppendInt(b, int64(x), 10), true
	case uint64:
		return strconv.AppendUint(b, x, 10), true
	case bool:
		return strconv.AppendBool(b, x), true
	case string:
		return append(append(strconv.AppendInt(append(b, 's'), int64(len(x)), 10), ':'), x...), true
	case []byte:
		return append(append(strconv.AppendInt(append(b, 'b'), int64(len(x)), 10), ':'), x...), x != nil
	}
	return b, false
}

// unsigned reports whether the parent sends an argument as an unsigned number.
func (l List) unsigned(v any) bool {
	if !l.SendsUnsigned {
		return false
	}
	kind, _, _ := readArgument(v)
	return kind == unsignedArgument
}
