package argument

import (
	"database/sql/driver"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// This file reads the application's arguments by their kind. A type that has methods may be sent as something else than its
// kind says: a parent may hand it on as it is, and pgx then asks driver.Valuer, interfaces of its own, or fmt.Stringer. What
// such an argument is to the engine is not known here.

// argumentKind is what an argument is to the engine.
type argumentKind uint8

const (
	unknownArgument argumentKind = iota // or neither a whole number nor text
	signedArgument
	unsignedArgument
	textArgument
)

// readArgument returns what an argument is: its number, or the bits of an unsigned one, or its text.
func readArgument(v any) (kind argumentKind, n int64, text string) {
	switch v := v.(type) {
	case int64:
		return signedArgument, v, ""
	case int:
		return signedArgument, int64(v), ""
	case string:
		return textArgument, 0, v
	case []byte:
		return textArgument, 0, string(v)
	case nil:
		return unknownArgument, 0, ""
	}
	rv := reflect.ValueOf(v)
	if rv.Type().NumMethod() > 0 {
		return unknownArgument, 0, ""
	}
	switch rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return signedArgument, rv.Int(), ""
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return unsignedArgument, int64(rv.Uint()), ""
	case reflect.String:
		return textArgument, 0, rv.String()
	}
	return unknownArgument, 0, ""
}

// Integer returns a whole number of 63 bits and a sign.
func Integer(v any) (int64, bool) {
	switch kind, n, _ := readArgument(v); kind {
	case signedArgument:
		return n, true
	case unsignedArgument:
		return n, n >= 0
	}
	return 0, false
}

// rowCount returns a number of rows, as LIMIT and OFFSET have it.
func rowCount(v any) (int64, bool) {
	n, ok := Integer(v)
	if s, text := v.(string); text {
		var err error
		n, err = strconv.ParseInt(s, 10, 64)
		ok = err == nil
	}
	return n, ok && n >= 0
}

func isInteger(v any) bool {
	_, ok := Integer(v)
	return ok
}

// mayBeNumber reports whether an argument is a number to the engine, or may be one.
func mayBeNumber(v any) bool {
	switch v.(type) {
	case nil, string, []byte, time.Time:
		return false
	}
	t := reflect.TypeOf(v)
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Bool:
		return true
	}
	return t.NumMethod() > 0
}

// mayBeNull reports whether an argument is NULL to the engine, or may be NULL.
func mayBeNull(v any) bool {
	switch v := v.(type) {
	case nil, driver.Valuer:
		return true
	case []byte:
		return v == nil
	}
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}

// Kept returns an argument that its caller cannot change any more, even after it has given up; false if something that the
// argument refers to may still change.
func Kept(v any) (any, bool) {
	switch v := v.(type) {
	case nil, int64, float64, bool, string, time.Time:
		return v, true
	case []byte:
		return slices.Clone(v), true
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return v, true
		}
		cp := reflect.New(rv.Type().Elem())
		cp.Elem().Set(rv.Elem())
		return cp.Convert(rv.Type()).Interface(), fixed(rv.Type().Elem())
	case reflect.Slice:
		if rv.IsNil() {
			return v, true
		}
		cp := reflect.MakeSlice(rv.Type(), rv.Len(), rv.Len())
		reflect.Copy(cp, rv)
		return cp.Interface(), fixed(rv.Type().Elem())
	}
	return v, fixed(rv.Type())
}

// fixed reports whether a copy of a value of that type shares nothing with it that may change.
func fixed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return fixed(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return true
		}
		for i := range t.NumField() {
			if !fixed(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.String:
		return true
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}
