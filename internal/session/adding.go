package session

import "github.com/slotsql/slotsql/internal/slots"

// addition is what an execution that adds to a counter has found out.
type addition struct {
	slot  int64        // that it adds to
	batch *slots.Batch // that a shared statement is for
	sums  *sums        // of a group on the base row
	row   slots.RowKey // whose heat the execution shows; the zero one: none's
	firm  bool         // the statement that has counted lets no other session change the base row
	take  taking       // of a portion
	// rowLocked: its statement has changed the base row, so that others make no slots of it.
	rowLocked bool
}
