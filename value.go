package slotsql

import (
	"fmt"
	"strconv"
)

func textOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// countOf reads a number as any driver gives it.
func countOf(rows [][]any) int64 {
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

// wholeOf reads a count.
func wholeOf(v any) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case []byte:
		return strconv.Atoi(string(v))
	case string:
		return strconv.Atoi(v)
	}
	return 0, fmt.Errorf("slotsql: want a number, got %T", v)
}
