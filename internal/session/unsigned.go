package session

import (
	"database/sql/driver"
	"math"
	"strconv"
)

// This file gives values of BIGINT UNSIGNED the Go type that the parent would have given them.
//
// go-sql-driver/mysql has two: uint64 for a statement sent as text, and for a prepared one int64,
// or digits if it is out of range. A statement of slotsql's own that returns the application's
// rows may have arguments where the application's has none, or be prepared where that is not.

// asCalled changes the rows in place, which are this call's own.
func (r *Run) asCalled(b *bufferedRows) *bufferedRows {
	if b == nil || !r.conn.Shared.Traits.UnsignedByProtocol {
		return b
	}
	_, text := r.sender.(direct)
	if text && len(r.call.args) > 0 {
		return b // both have arguments, which the parent has prepared, or written into the text
	}
	for _, row := range b.rows {
		for i, v := range row {
			if b.ColumnTypeDatabaseTypeName(i) == "UNSIGNED BIGINT" {
				row[i] = unsigned(v, text)
			}
		}
	}
	return b
}

// unsigned returns the value as the text protocol does, or else as a prepared statement does.
func unsigned(v driver.Value, text bool) driver.Value {
	n, ok := v.(uint64)
	switch v := v.(type) {
	case int64:
		n, ok = uint64(v), true
	case []byte:
		if text {
			if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
				return n
			}
		}
		return v
	}
	switch {
	case !ok:
		return v
	case text:
		return n
	case n > math.MaxInt64:
		return strconv.AppendUint(nil, n, 10)
	}
	return int64(n)
}

// wholeUnsigned returns a DECIMAL as the BIGINT UNSIGNED that it is with the plain driver. MySQL 8 makes a
// DECIMAL column of the sum of an unsigned total and a signed one in a query in FROM.
func wholeUnsigned(digits []byte, text bool) driver.Value {
	n, err := strconv.ParseUint(wholeDigits(digits), 10, 64)
	if err != nil {
		return digits
	}
	return unsigned(int64(n), text) //nolint:gosec // converted back there
}
