package link

import (
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
)

var (
	_ driver.Rows                           = RowsBase{}
	_ driver.RowsNextResultSet              = RowsBase{}
	_ driver.RowsColumnTypeDatabaseTypeName = RowsBase{}
	_ driver.RowsColumnTypeLength           = RowsBase{}
	_ driver.RowsColumnTypeNullable         = RowsBase{}
	_ driver.RowsColumnTypePrecisionScale   = RowsBase{}
	_ driver.RowsColumnTypeScanType         = RowsBase{}
)

// RowsBase delegates everything that rows can do to the parent's rows. If the parent lacks a
// method, it answers as database/sql would without the method, so one type serves every parent.
type RowsBase struct{ driver.Rows }

// Unwrap returns the parent's rows.
func (r RowsBase) Unwrap() driver.Rows { return r.Rows }

// HasNextResultSet implements driver.RowsNextResultSet.
func (r RowsBase) HasNextResultSet() bool {
	n, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

// NextResultSet implements driver.RowsNextResultSet.
func (r RowsBase) NextResultSet() error {
	if n, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return n.NextResultSet()
	}
	return io.EOF
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (r RowsBase) ColumnTypeDatabaseTypeName(i int) string {
	if t, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (r RowsBase) ColumnTypeLength(i int) (int64, bool) {
	if t, ok := r.Rows.(driver.RowsColumnTypeLength); ok {
		return t.ColumnTypeLength(i)
	}
	return 0, false
}

// ColumnTypeNullable implements driver.RowsColumnTypeNullable.
func (r RowsBase) ColumnTypeNullable(i int) (nullable, ok bool) {
	if t, ok := r.Rows.(driver.RowsColumnTypeNullable); ok {
		return t.ColumnTypeNullable(i)
	}
	return false, false
}

// ColumnTypePrecisionScale implements driver.RowsColumnTypePrecisionScale.
func (r RowsBase) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if t, ok := r.Rows.(driver.RowsColumnTypePrecisionScale); ok {
		return t.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (r RowsBase) ColumnTypeScanType(i int) reflect.Type {
	if t, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return t.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

// FinishingRows calls Finish once, after the parent's rows are closed: at the end of the last
// result set, so that Rows.Err reports its error, or in Close.
type FinishingRows struct {
	RowsBase
	Finish func(failed bool) error
	done   bool
	failed bool
}

// ErrRowsFailed stands for a failure to read the rows, for what Finish calls: the rows' own error
// is reported.
var ErrRowsFailed = errors.New("slotsql: reading the rows failed")

// Next implements driver.Rows.
func (r *FinishingRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	switch {
	case err == nil:
	case err != io.EOF:
		r.failed = true
	case !r.HasNextResultSet():
		if cerr := r.Close(); cerr != nil {
			return cerr
		}
	}
	return err
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (r *FinishingRows) HasNextResultSet() bool {
	return !r.done && r.RowsBase.HasNextResultSet()
}

// Close implements driver.Rows.
func (r *FinishingRows) Close() error {
	if r.done {
		return nil
	}
	r.done = true
	err := r.Rows.Close()
	if ferr := r.Finish(r.failed || err != nil); err == nil && !(r.failed && errors.Is(ferr, ErrRowsFailed)) {
		err = ferr
	}
	return err
}
