package session

import (
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A role may be allowed to read a counter table, lock its rows or delete them, and not to move slots into them. While the table has
// no slots, its statements run as plain (asleep.go, observe.go). While there are some, it is denied the drain, and the error names
// the rights to grant.

// explainDenied says what has to be granted to a user who was denied a drain.
func (uw unwritable) explainDenied(t *schema.Table, err error) error {
	if !uw.run.isDenied(err) {
		return err
	}
	err = databaseError(err)
	grants := t.Counter.Rights.Ungranted
	if len(grants) == 0 { // the rights are those of a role that the session has set
		grants = []string{
			"GRANT SELECT, UPDATE ON " + t.Name + " TO the session's role",
			"GRANT SELECT, INSERT, UPDATE, DELETE ON " + t.Counter.SlotTable.Name + " TO the session's role",
		}
	}
	return &link.NotMovedError{
		Table:  t.Name,
		Reason: "the session's user may not move it: run, as the owner of table " + t.Name + ": " + strings.Join(grants, "; "),
		Err:    err,
	}
}

// isDenied reports whether err is that of a statement which the session's user may not run.
func (r *Run) isDenied(err error) bool {
	d, ok := r.conn.Shared.Dialect.(dialect.RightsReader)
	return ok && err != nil && d.DeniedRight(err)
}
