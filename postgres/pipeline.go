package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

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
	if err != nil && unsent(err) {
		err = driver.ErrBadConn // nothing has been sent
	}
	return out, err
}

// PipelineOnce has the server parse each statement when those before it have run. A batch of pgx
// that has statements prepared does so before the first one runs.
func (Engine) PipelineOnce(ctx context.Context, c driver.Conn, list []slotdialect.Statement) ([]slotdialect.Outcome, error) {
	p, ok := c.(interface{ Conn() *pgx.Conn })
	if !ok {
		return nil, driver.ErrSkip
	}
	if p.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	var batch pgconn.Batch
	for _, s := range list {
		args := make([][]byte, len(s.Args))
		for i, a := range s.Args {
			switch v := a.Value.(type) {
			case nil:
			case []byte:
				args[i] = v
			default:
				args[i] = fmt.Append(nil, v)
			}
		}
		batch.ExecParams(s.SQL, args, nil, nil, nil)
	}
	results, err := p.Conn().PgConn().ExecBatch(ctx, &batch).ReadAll()
	if err != nil {
		if unsent(err) {
			err = driver.ErrBadConn // nothing has been sent
		}
		return nil, err
	}
	out := make([]slotdialect.Outcome, len(list))
	for i, r := range results[:min(len(results), len(out))] {
		for _, f := range r.FieldDescriptions {
			out[i].Columns = append(out[i].Columns, f.Name)
		}
		for _, values := range r.Rows {
			row := make([]driver.Value, len(values))
			for j, v := range values {
				if row[j], err = fromText(r.FieldDescriptions[j].DataTypeOID, v); err != nil {
					return nil, err
				}
			}
			out[i].Rows = append(out[i].Rows, row)
		}
		out[i].Affected = r.CommandTag.RowsAffected()
	}
	return out, nil
}

// fromText reads a value in the server's text format.
func fromText(oid uint32, v []byte) (driver.Value, error) {
	switch {
	case v == nil:
		return nil, nil
	case oid == pgtype.BoolOID:
		return string(v) == "t", nil
	case oid == pgtype.Int2OID, oid == pgtype.Int4OID, oid == pgtype.Int8OID, oid == pgtype.OIDOID:
		return strconv.ParseInt(string(v), 10, 64)
	}
	return string(v), nil
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
