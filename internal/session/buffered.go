package session

import (
	"database/sql/driver"
	"io"

	"github.com/slotsql/slotsql/internal/link"
)

// heldRows are values that have been read.
type heldRows struct{ rows [][]driver.Value }

// Next implements driver.Rows.
func (r *heldRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// bufferedRows are rows that have been read to the end.
type bufferedRows struct {
	columnTypes
	heldRows
	columns []string
}

// readBuffered reads all rows and closes them. The error of a statement may come with its rows.
func readBuffered(rows driver.Rows) (*bufferedRows, error) {
	// Some parents take types from the current row: ask before reading on.
	b := &bufferedRows{columns: rows.Columns(), columnTypes: TypesOf(rows)}
	var err error
	b.rows, err = link.ReadAll(rows)
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	return b, err
}

// Columns implements driver.Rows.
func (b *bufferedRows) Columns() []string { return b.columns }

// Close implements driver.Rows.
func (b *bufferedRows) Close() error { return nil }
