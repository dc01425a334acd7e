package session

import (
	"database/sql/driver"
	"reflect"

	"github.com/slotsql/slotsql/internal/link"
)

// SQLite notices in the first step of a query that another connection has changed the schema. Some
// parents take that step only when the first row is asked for (rewrite.SessionRules.LateErrors).
// By then the application has the rows, and it is too late to plan again. So the first row of a
// rewritten query is read at once.

var _ rowsTyper = (*firstRows)(nil)

// firstRow reads the first row. It returns the error if that may mean that the schema has changed;
// any other error comes with the rows, as from the parent.
func (rd reading) firstRow(rows driver.Rows) (driver.Rows, error) {
	f := &firstRows{columnTypes: TypesOf(rows), Rows: rows, columns: rows.Columns()}
	f.first = make([]driver.Value, len(f.columns))
	if f.err = rows.Next(f.first); f.err != nil && rd.conn.Engine.SchemaChanged(f.err) {
		_ = rows.Close()
		return nil, f.err
	}
	return f, nil
}

// firstRows are rows of which the first one has been read.
type firstRows struct {
	columnTypes // as before the first row: some parents take types from the current row
	driver.Rows
	columns []string
	first   []driver.Value // nil once the application has it
	err     error          // in place of the first row
}

// Unwrap returns the parent's rows.
func (f *firstRows) Unwrap() driver.Rows { return f.Rows }

// Columns implements driver.Rows. The parent's rows may be closed.
func (f *firstRows) Columns() []string { return f.columns }

// Next implements driver.Rows.
func (f *firstRows) Next(dest []driver.Value) error {
	switch {
	case f.err != nil:
		return f.err
	case f.first != nil:
		copy(dest, f.first)
		f.first = nil
		return nil
	}
	return f.Rows.Next(dest)
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (f *firstRows) ColumnTypeScanType(i int) reflect.Type {
	if f.first == nil {
		return link.RowsBase{Rows: f.Rows}.ColumnTypeScanType(i)
	}
	return f.columnTypes.ColumnTypeScanType(i)
}

// HasNextResultSet implements driver.RowsNextResultSet: the statement is one query.
func (f *firstRows) HasNextResultSet() bool { return false }

// NextResultSet implements driver.RowsNextResultSet.
func (f *firstRows) NextResultSet() error { return link.RowsBase{Rows: f.Rows}.NextResultSet() }
