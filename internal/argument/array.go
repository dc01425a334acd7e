package argument

import (
	"database/sql/driver"
	"reflect"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// An array is an argument that is bound as an array.
type array struct {
	length int
	at     func(i int) any
}

// arrayOf returns an argument as an array of one dimension, and reports whether it certainly is
// one: a slice, or the database's own text form of an array without quotes.
func arrayOf(v any) (array, bool) {
	switch v := v.(type) {
	case driver.Valuer:
		return array{}, false
	case []byte:
		return arrayIn(string(v))
	case string:
		return arrayIn(v)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice || rv.Type().Name() != "" || !scalar(rv.Type().Elem()) {
		return array{}, false
	}
	return array{rv.Len(), func(i int) any { return rv.Index(i).Interface() }}, true
}

// scalar reports whether values of a type are elements of an array rather than arrays.
func scalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Array: // a UUID
		return t.Elem().Kind() == reflect.Uint8
	}
	return false
}

// arrayIn reads {1,2,3}.
func arrayIn(s string) (array, bool) {
	inner, opened := strings.CutPrefix(s, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !opened || !closed || strings.ContainsAny(inner, `{}"\`) {
		return array{}, false
	}
	if inner == "" {
		return array{}, true
	}
	list := strings.Split(inner, ",")
	return array{len(list), func(i int) any { return list[i] }}, true
}

// eachFit checks each element of an array of deltas. The array must not be shorter than those of
// the rows' other columns, or NULL would be used for what is missing.
func (l List) eachFit(d rewrite.DeltaArg, v any) bool {
	a, ok := arrayOf(v)
	if !ok {
		return false
	}
	for _, other := range d.Beside {
		w, ok := l.Value(other)
		if !ok {
			return false
		}
		if b, ok := arrayOf(w.Value); !ok || b.length > a.length {
			return false
		}
	}
	for i := range a.length {
		x := a.at(i)
		if s, text := x.(string); text {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return false
			}
			x = n
		}
		if _, ok := checkDelta(d, x); !ok {
			return false
		}
	}
	return true
}
