package doctor

import (
	"context"
	"database/sql"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.Session = session{}

// session is a connection of the plain driver.
type session struct{ conn *sql.Conn }

// Query implements dialect.Session.
func (s session) Query(ctx context.Context, query string, args ...any) ([][]any, error) {
	rows, err := s.conn.QueryContext(ctx, query, args...)
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

// Exec implements dialect.Session.
func (s session) Exec(ctx context.Context, query string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, query, args...)
	return err
}
