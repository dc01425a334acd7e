package link

import (
	"fmt"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// ErrUnmoved is the reason why a base row has not taken what its slots hold.
type ErrUnmoved string

func (e ErrUnmoved) Error() string { return string(e) }

// ExplainNotMoved turns the error of a statement that moves slots into a *NotMovedError, if the
// database refuses to move them.
func (e *Engine) ExplainNotMoved(t *schema.Table, err error) error {
	if reason, ok := err.(ErrUnmoved); ok {
		return &NotMovedError{Table: t.Name, Reason: string(reason)}
	}
	if reason, ok := e.unmoved(err); ok {
		return &NotMovedError{Table: t.Name, Reason: reason, Err: err}
	}
	if !e.NotApplied(err) || e.Retryable(err) || e.Conflict(err) || e.LockTimeout(err) || e.SchemaChanged(err) || e.TxEnded(err) {
		return err
	}
	return &NotMovedError{
		Table: t.Name,
		Reason: fmt.Sprintf(
			"the database rejects it. The counter's column must be able to hold the total, and no constraint, trigger or missing privilege may prevent the update (run `slotsql check`, repair table %s, and retry)",
			t.Name,
		),
		Err: err,
	}
}
