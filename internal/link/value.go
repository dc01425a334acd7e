package link

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// TextOf returns a value as text, whatever type the driver has for it.
func TextOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// CountOf returns the number in the first column of the first row, whatever type the driver has
// for it.
func CountOf(rows [][]any) int64 {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return 0
	}
	v := rows[0][0]
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	n, _ := wholeNumber(v)
	return n
}

// WholeOf reads a count.
func WholeOf(v any) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case []byte:
		return strconv.Atoi(string(v))
	case string:
		return strconv.Atoi(v)
	}
	return 0, fmt.Errorf("slotsql: expected a whole number from the database, got %T", v)
}

// wholeNumber returns a number of any integer type, or written as text; false for any other
// value, and for one below zero or above the largest int64.
func wholeNumber(v any) (int64, bool) {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), rv.Int() >= 0
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return int64(rv.Uint()), rv.Uint() <= math.MaxInt64
	case reflect.String:
		n, err := strconv.ParseInt(rv.String(), 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}
