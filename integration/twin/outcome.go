package twin

import (
	"context"
	"database/sql"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Mode is the method of database/sql that runs a statement.
type Mode int

const (
	Auto  Mode = iota // Query when the statement looks like one that returns rows
	Exec              // ExecContext
	Query             // QueryContext
)

// Statement is what a program sends.
type Statement struct {
	SQL      string
	Args     []any
	Mode     Mode
	Prepared bool // run through PrepareContext
	Times    int  // a prepared query is run so often, if more than once; the outcome is the last run's
}

var (
	leading   = regexp.MustCompile(`^(?:\s+|--[^\n]*\n?|#[^\n]*\n?|/\*(?s:.*?)\*/|\()*`)
	firstWord = regexp.MustCompile(`^[A-Za-z]+`)
	returning = regexp.MustCompile(`(?i)\breturning\b`)
	changes   = regexp.MustCompile(`(?i)\b(insert|update|delete|merge)\b`)
	locks     = regexp.MustCompile(`(?i)\bfor(?:\s+|--[^\n]*\n|#[^\n]*\n|/\*(?s:.*?)\*/)+(no\s+key\s+)?update\b`)
	orderBy   = regexp.MustCompile(`(?i)\border\s+by\b`)
)

// contains reports whether a word occurs, in whatever case. It is asked before the
// expressions, which take seconds for a statement of 100 MB.
func contains(sql, word string) bool { return strings.Contains(strings.ToLower(sql), word) }

func returns(sql string) bool { return contains(sql, "returning") && returning.MatchString(sql) }

// mode is a guess from the statement, good enough for a test: both sides are run in
// the same way whatever it is.
func (s Statement) mode() Mode {
	if s.Mode != Auto {
		return s.Mode
	}
	query := leading.ReplaceAllString(s.SQL, "")
	switch strings.ToUpper(firstWord.FindString(query)) {
	case "SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC", "PRAGMA":
		return Query
	case "WITH":
		if !changes.MatchString(locks.ReplaceAllString(query, "")) || returns(query) {
			return Query
		}
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE":
		if returns(query) {
			return Query
		}
	}
	return Exec
}

// Outcome is all that a program sees of a statement.
type Outcome struct {
	Mode    Mode
	Ordered bool     // the statement asks for an order
	OrderBy []string // by these columns; nil when they cannot be told
	Sets    []ResultSet
	// Of Exec.
	RowsAffected, LastInsertID Number
	Err                        error
}

// ResultSet is one set of rows.
type ResultSet struct {
	Columns []Column
	Rows    [][]any // scanned into any
}

// Column is what sql.ColumnType says.
type Column struct {
	Name, DatabaseType   string
	ScanType             string
	Nullable, NullableOK bool
	Length               int64
	LengthOK             bool
	Precision, Scale     int64
	DecimalOK            bool
}

// Number is a result's number, or the error in its place.
type Number struct {
	Value int64
	Err   error
}

// Session is a *sql.DB, *sql.Conn or *sql.Tx.
type Session interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Run runs the statement on both sides.
func (p *Pair) Run(ctx context.Context, s Statement) (plain, wrapped Outcome) {
	return Run(ctx, p.Plain, s), Run(ctx, p.Wrapped, s)
}

// Run runs the statement in a session.
func Run(ctx context.Context, db Session, s Statement) Outcome {
	o := Outcome{Mode: s.mode()}
	if contains(s.SQL, "order") {
		o.Ordered, o.OrderBy = orderBy.MatchString(s.SQL), orderColumns(s.SQL)
	}
	exec, query := db.ExecContext, db.QueryContext
	if s.Prepared {
		stmt, err := db.PrepareContext(ctx, s.SQL)
		if err != nil {
			o.Err = err
			return o
		}
		defer stmt.Close()
		exec = func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
			return stmt.ExecContext(ctx, args...)
		}
		query = func(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
			return stmt.QueryContext(ctx, args...)
		}
	}
	if o.Mode == Query {
		for range max(1, s.Times) {
			if o.Sets, o.Err = read(query(ctx, s.SQL, s.Args...)); o.Err != nil {
				break
			}
		}
		return o
	}
	result, err := exec(ctx, s.SQL, s.Args...)
	if err != nil {
		o.Err = err
		return o
	}
	o.RowsAffected.Value, o.RowsAffected.Err = result.RowsAffected()
	o.LastInsertID.Value, o.LastInsertID.Err = result.LastInsertId()
	return o
}

func read(rows *sql.Rows, err error) ([]ResultSet, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sets []ResultSet
	for {
		set, err := readSet(rows)
		if err != nil {
			return sets, err
		}
		sets = append(sets, set)
		if !rows.NextResultSet() {
			return sets, rows.Err()
		}
	}
}

// firstUserOID is PostgreSQL's FirstNormalObjectId. pgx gives the number of a
// type that it does not know in place of its name.
const firstUserOID = 16384

func readSet(rows *sql.Rows) (ResultSet, error) {
	var set ResultSet
	types, err := rows.ColumnTypes()
	if err != nil {
		return set, err
	}
	for _, t := range types {
		c := Column{Name: t.Name(), DatabaseType: t.DatabaseTypeName(), ScanType: typeName(t.ScanType())}
		if n, err := strconv.Atoi(c.DatabaseType); err == nil && n >= firstUserOID {
			c.DatabaseType = "user-defined" // the number is another in each database
		}
		c.Nullable, c.NullableOK = t.Nullable()
		c.Length, c.LengthOK = t.Length()
		c.Precision, c.Scale, c.DecimalOK = t.DecimalSize()
		set.Columns = append(set.Columns, c)
	}
	for rows.Next() {
		row := make([]any, len(types))
		into := make([]any, len(types))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return set, err
		}
		set.Rows = append(set.Rows, row)
	}
	return set, rows.Err()
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "none"
	}
	return t.String()
}
