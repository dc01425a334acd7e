package session

import (
	"context"
	"database/sql/driver"
	"strings"
	"unicode/utf8"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// On MySQL a transaction at REPEATABLE READ changes the newest version of a row, and from then on
// sees its own version of that row beside a snapshot of everything else. If others have drained
// the row since the snapshot, the slots that they have moved into the row are still there in the
// snapshot, and would be counted twice. So before it reads, the transaction hides those slots
// behind versions of its own.

// oneVersion makes the transaction see the rows that it has changed and drained as they are, and
// none of their slots. (At other levels it does so anyway, and the query that looks for slots
// finds nothing.) Seen reports that it sees its own version of the rows. If its increments were in
// slots, and the slots added up to zero, the drain has left the row as others have written it.
func (rc rowChanges) oneVersion(ctx context.Context, v *rewrite.Versions, seen bool) error {
	if !seen {
		if err := rc.run.steps(ctx, v.Touch); err != nil {
			return err
		}
	}
	args, err := rc.run.bind(v.Find.Args, nil)
	if err != nil {
		return err
	}
	rows, err := rc.conn.ParentQuery(ctx, rc.run.sql(&v.Find), args)
	if err != nil {
		return err
	}
	all, err := readBuffered(rows)
	if err != nil {
		return err
	}
	for _, row := range all.rows {
		if err := rc.hide(ctx, v, row, all.columnTypes); err != nil {
			return err
		}
	}
	return nil
}

// hide takes a row of Find: the key, the slot, the version.
func (rc rowChanges) hide(ctx context.Context, v *rewrite.Versions, row []driver.Value, types []ColumnType) error {
	values := make([]any, len(row))
	for i, x := range row {
		if b, ok := x.([]byte); ok && utf8.Valid(b) && !binaryType(types[i].Name) {
			x = string(b) // in the connection's character set, as it came
		}
		values[i] = x
	}
	key, slot, version := values[:len(values)-2], values[len(values)-2], values[len(values)-1]
	put := append(append([]any{slot}, key...), version)
	res, err := rc.conn.ParentExec(ctx, v.Hide, link.NamedValues(put))
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		return err
	}
	return rc.conn.Session().Exec(ctx, v.Drop, append(key[:len(key):len(key)], slot)...)
}

func binaryType(name string) bool {
	return strings.Contains(name, "BINARY") || strings.Contains(name, "BLOB") || name == "BIT"
}
