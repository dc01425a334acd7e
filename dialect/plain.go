package dialect

import (
	"context"
	"database/sql"
)

var _ Session = PlainSession{}

// PlainSession is a Session on a connection of the plain driver.
type PlainSession struct{ Conn *sql.Conn }

// Query implements Session.
func (s PlainSession) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	rows, err := s.Conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out [][]any
	for rows.Next() {
		row, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// Exec implements Session.
func (s PlainSession) Exec(ctx context.Context, query string, args ...any) error {
	_, err := s.Conn.ExecContext(ctx, query, args...)
	return err
}
