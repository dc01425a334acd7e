package postgres

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	slotdialect "github.com/slotsql/slotsql/dialect"
)

// Pipeline runs the statements as one batch of pgx: the server runs them one after
// another and commits at the end.
func (Engine) Pipeline(ctx context.Context, c driver.Conn, list []slotdialect.Statement) ([]slotdialect.Outcome, error) {
	p, ok := c.(interface{ Conn() *pgx.Conn })
	if !ok {
		return nil, driver.ErrSkip
	}
	conn := p.Conn()
	if conn.IsClosed() {
		return nil, driver.ErrBadConn
	}
	var batch pgx.Batch
	for _, s := range list {
		args := make([]any, len(s.Args))
		for i, a := range s.Args {
			args[i] = a.Value
		}
		batch.Queue(s.SQL, args...)
	}
	results := conn.SendBatch(ctx, &batch)
	out := make([]slotdialect.Outcome, len(list))
	var err error
	for i := range out {
		if out[i], err = outcome(results); err != nil {
			break
		}
	}
	if cerr := results.Close(); err == nil {
		err = cerr // the commit is behind the last statement
	}
	if err != nil && pgconn.SafeToRetry(err) {
		err = driver.ErrBadConn // nothing has been sent
	}
	return out, err
}

// outcome reads what has become of the next statement.
func outcome(results pgx.BatchResults) (o slotdialect.Outcome, err error) {
	rows, err := results.Query()
	if err != nil {
		return o, err
	}
	defer rows.Close()
	for _, f := range rows.FieldDescriptions() {
		o.Columns = append(o.Columns, f.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return o, err
		}
		row := make([]driver.Value, len(values))
		for i, v := range values {
			row[i] = asDriverValue(v)
		}
		o.Rows = append(o.Rows, row)
	}
	rows.Close()
	o.Affected = rows.CommandTag().RowsAffected()
	return o, rows.Err()
}

// asDriverValue returns a value of one of the types of Decodes as database/sql has it.
func asDriverValue(v any) driver.Value {
	switch v := v.(type) {
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	}
	return v
}

// Decodes lists the types whose values pgx and its stdlib package represent in the same
// way.
func (Engine) Decodes(typeName string) bool {
	switch typeName {
	case "INT2", "INT4", "INT8", "BOOL", "TEXT", "VARCHAR":
		return true
	}
	return false
}
