package session

import (
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// unsupported returns the error of a statement that cannot be run exactly.
func unsupported(plan *rewrite.Plan, reason string) error {
	e := &link.UnsupportedError{Reason: reason}
	if len(plan.Tables) > 0 {
		e.Table = plan.Tables[0]
	}
	return e
}
