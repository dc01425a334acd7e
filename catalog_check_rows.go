package slotsql

import "context"

// checkRows holds what tables have in them against what it may be.
//
// A table of the empty key is held against its name: it may have one
// row, or none yet. With several it would be exact as well, as increments count
// the rows before they use a slot; but none would ever be slotted, so that a
// key is certainly missing.
func (s *catalog) checkRows(ctx context.Context, v *view, c checkedTable) ([]Problem, error) {
	if !c.table.Counter.Single() {
		return s.checkNumbers(ctx, v, c)
	}
	d := s.dialect
	rows, err := v.session().Query(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+d.Quote(c.table.Schema)+"."+d.Quote(c.table.Name)+" LIMIT 2) AS slotsql_n")
	if err != nil || countOf(rows) < 2 {
		return nil, err
	}
	return []Problem{c.config.problem("key", "has more than one row, and key: [] is for tables of a single row: name its key columns")}, nil
}
