package session

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
)

// ColumnType is what the parent reports of a result column.
type ColumnType struct {
	Column           string
	Name             string
	scan             reflect.Type
	length           int64
	hasLength        bool
	nullable, hasNul bool
	precision, scale int64
	hasPrecision     bool
}

func typeOf(rows driver.Rows, i int) ColumnType {
	var t ColumnType
	if r, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		t.Name = r.ColumnTypeDatabaseTypeName(i)
	}
	t.scan = link.RowsBase{Rows: rows}.ColumnTypeScanType(i) // nil where the parent says so
	if r, ok := rows.(driver.RowsColumnTypeLength); ok {
		t.length, t.hasLength = r.ColumnTypeLength(i)
	}
	if r, ok := rows.(driver.RowsColumnTypeNullable); ok {
		t.nullable, t.hasNul = r.ColumnTypeNullable(i)
	}
	if r, ok := rows.(driver.RowsColumnTypePrecisionScale); ok {
		t.precision, t.scale, t.hasPrecision = r.ColumnTypePrecisionScale(i)
	}
	return t
}

// TypesOf returns what the rows report about the types of their columns.
func TypesOf(rows driver.Rows) []ColumnType {
	columns := rows.Columns()
	out := make([]ColumnType, len(columns))
	for i := range out {
		out[i] = typeOf(rows, i)
		out[i].Column = columns[i]
	}
	return out
}

var _ rowsTyper = (*typedRows)(nil)

// rowsTyper is every interface of a result's column types.
type rowsTyper interface {
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// columnTypes implements the column type interfaces for a known list of types.
type columnTypes []ColumnType

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (t columnTypes) ColumnTypeDatabaseTypeName(i int) string { return t[i].Name }

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (t columnTypes) ColumnTypeLength(i int) (int64, bool) { return t[i].length, t[i].hasLength }

// ColumnTypeNullable implements driver.RowsColumnTypeNullable.
func (t columnTypes) ColumnTypeNullable(i int) (nullable, ok bool) { return t[i].nullable, t[i].hasNul }

// ColumnTypePrecisionScale implements driver.RowsColumnTypePrecisionScale.
func (t columnTypes) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	return t[i].precision, t[i].scale, t[i].hasPrecision
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (t columnTypes) ColumnTypeScanType(i int) reflect.Type { return t[i].scan }

// typedRows reports the column types of the application's own SQL, on an engine that gives the
// rewritten SQL's expressions other types, and returns integers in the Go type that goes with
// them.
type typedRows struct {
	columnTypes
	driver.Rows
	columns []string
	narrow  []bool // columns whose plain type fits int64, though it is unsigned
	whole   []bool // columns whose plain type is an integer
	big     []bool // columns whose plain type is BIGINT UNSIGNED
	text    bool   // the statement is sent as text, with any arguments written into it
}

// Unwrap returns the parent's rows.
func (r *typedRows) Unwrap() driver.Rows { return r.Rows }

// Columns implements driver.Rows. The parent may put a table's name before that of a column, but
// not before that of an expression.
func (r *typedRows) Columns() []string { return r.columns }

// Next implements driver.Rows.
func (r *typedRows) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err != nil {
		return err
	}
	for i, v := range dest {
		switch v := v.(type) {
		case uint64:
			if r.narrow[i] {
				dest[i] = int64(v)
			}
		case []byte:
			if r.whole[i] {
				dest[i] = integer(v)
			} else if r.big[i] {
				dest[i] = wholeUnsigned(v, r.text)
			}
		}
	}
	return nil
}

// integer returns a DECIMAL as the integer that it is with the plain driver. MySQL makes a DECIMAL
// column of a UNION of an unsigned total and a signed column, where the plain columns fit a
// BIGINT.
func integer(text []byte) driver.Value {
	if n, err := strconv.ParseInt(wholeDigits(text), 10, 64); err == nil {
		return n
	}
	return text
}

// wholeDigits returns a DECIMAL without a fraction of zeros: the sum of one and an argument of a prepared statement
// has as many digits behind the point as the argument, which is a DECIMAL(65,30) on MySQL 8.
func wholeDigits(text []byte) string {
	digits, fraction, _ := strings.Cut(string(text), ".")
	if strings.Trim(fraction, "0") != "" {
		return string(text)
	}
	return digits
}

// HasNextResultSet implements driver.RowsNextResultSet: the statement is one query.
func (r *typedRows) HasNextResultSet() bool { return false }

// NextResultSet implements driver.RowsNextResultSet.
func (r *typedRows) NextResultSet() error { return link.RowsBase{Rows: r.Rows}.NextResultSet() }

// queryShape returns the column types of a query's own SQL, which it asks for once per plan by the
// plan's Shape. If the engine refuses that query, the types of the rewritten SQL are used, unless
// the statement itself would be refused.
func (rd reading) queryShape(ctx context.Context) ([]ColumnType, error) {
	ddl := rd.conn.Shared.Noticed.DDL.Load()
	if t := rd.run.Plan.types.Load(); t != nil && t.ddl == ddl {
		return t.types, nil
	}
	args, err := rd.run.bind(rd.run.Plan.Read.Types.Args, nil)
	if err != nil {
		return nil, nil // the statement itself will meet the error
	}
	rows, err := rd.conn.ParentQuery(ctx, rd.run.sql(&rd.run.Plan.Read.Types.Bound), link.JoinArgs(rd.run.call.options, args))
	switch {
	case err != nil && rd.run.Plan.Read.Types.Checks, rd.conn.failsTx(err):
		return nil, err
	case err != nil:
		return nil, nil
	}
	types := TypesOf(rows)
	if rows.Close() == nil && !(rd.run.Plan.Read.Types.Named && namesHold(args, types)) {
		rd.run.Plan.types.Store(&shapeTypes{types, ddl})
	}
	return types, nil
}

// namesHold reports whether names of result columns may hold values of arguments: a placeholder in one tells that they do not.
func namesHold(args []driver.NamedValue, types []ColumnType) bool {
	marked := func(s string) bool { return strings.Contains(s, "?") }
	return slices.ContainsFunc(args, func(a driver.NamedValue) bool {
		switch v := a.Value.(type) {
		case string:
			return marked(v)
		case []byte:
			return marked(string(v))
		}
		return false
	}) || !slices.ContainsFunc(types, func(t ColumnType) bool { return marked(t.Column) })
}

// shapeTypes are the column types of a query's own SQL, and how many DDL statements the process
// had sent when they were read: any of those may change a table that the query reads.
type shapeTypes struct {
	types []ColumnType
	ddl   int64
}

func (rd reading) withTypes(rows driver.Rows, types []ColumnType) driver.Rows {
	if len(types) != len(rows.Columns()) {
		rd.run.Plan.types.Store(nil) // another client has changed a table
		return rows
	}
	if rd.run.Plan.Read.Types.InPlace {
		types = foundRows(types, rows)
	}
	_, called := rd.run.sender.(direct)
	text := called && (len(rd.run.call.args) == 0 || rd.conn.Unprepared)
	flags := func() []bool { return make([]bool, len(types)) }
	out := &typedRows{types, rows, make([]string, len(types)), flags(), flags(), flags(), text}
	for i, t := range types {
		out.big[i] = t.Name == "UNSIGNED BIGINT" && typeOf(rows, i).Name == "DECIMAL"
		out.columns[i], out.narrow[i], out.whole[i] = t.Column, narrowTypes[t.Name], narrowTypes[t.Name] || wholeTypes[t.Name]
	}
	if rd.run.Plan.Read.Types.Named && !called { // a prepared statement's names have placeholders, whatever the parent writes elsewhere
		for i, name := range rows.Columns() {
			if strings.Contains(name, "?") {
				out.columns[i] = name
			}
		}
	}
	return out
}

// foundRows takes over what the parent reports about columns that are nullable only because an
// outer join may not find their row, and are not in this result. MySQL reads a row that WHERE and
// ON fix by a key before it answers, and reports the columns' own types if it exists; a query that
// returns no rows is answered before that. A total is nullable whenever its counter is.
func foundRows(types []ColumnType, rows driver.Rows) []ColumnType {
	out := types
	for i, t := range types {
		if !t.hasNul || !t.nullable {
			continue
		}
		if now := typeOf(rows, i); now.hasNul && !now.nullable && now.Name == t.Name {
			if &out[0] == &types[0] {
				out = slices.Clone(types) // they are the plan's
			}
			out[i].nullable, out[i].scan = false, now.scan
		}
	}
	return out
}

// narrowTypes are the unsigned types that go-sql-driver/mysql gives as int64.
var narrowTypes = map[string]bool{
	"UNSIGNED TINYINT": true, "UNSIGNED SMALLINT": true, "UNSIGNED MEDIUMINT": true, "UNSIGNED INT": true, "YEAR": true,
}

// wholeTypes are its other integers, but for UNSIGNED BIGINT: its driver returns large ones as text.
var wholeTypes = map[string]bool{"TINYINT": true, "SMALLINT": true, "MEDIUMINT": true, "INT": true, "BIGINT": true}

// String describes a type for a log.
func (t ColumnType) String() string {
	s := t.Name
	if t.hasPrecision {
		s += fmt.Sprintf("(%d,%d)", t.precision, t.scale)
	}
	if t.hasLength {
		s += fmt.Sprintf(" length %d", t.length)
	}
	if t.hasNul {
		s += fmt.Sprintf(" nullable %v", t.nullable)
	}
	return fmt.Sprintf("%s as %v", s, t.scan)
}
