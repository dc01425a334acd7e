package session

import (
	"context"
	"database/sql/driver"
)

// queryProbe runs a read in its form for rows without slots. It returns no rows if one of
// them has some: the statement then has to run with totals.
func (r *Run) queryProbe(ctx context.Context) (driver.Rows, error) {
	rows, err := r.conn.ParentQuery(ctx, r.Plan.Read.Probe, r.call.args)
	if err != nil {
		return nil, err
	}
	b, err := readBuffered(rows)
	if err != nil {
		return nil, err
	}
	last := len(b.columns) - 1
	for i, row := range b.rows {
		if row[last] != false {
			r.Plan.proofs.note(false)
			return nil, nil
		}
		b.rows[i] = row[:last]
	}
	r.Plan.proofs.note(true)
	b.columns, b.columnTypes = b.columns[:last], b.columnTypes[:last]
	return b, nil
}

// probes reports whether the execution is worth a try in that form: the last ones have not
// met rows with slots.
func (r *Run) probes() bool {
	if r.Plan.Read.Probe == "" || len(r.call.options) > 0 {
		return false
	}
	_, unprepared := r.via.(direct)
	return unprepared && r.Plan.proofs.due()
}
