package slotsql

import (
	"fmt"

	"github.com/slotsql/slotsql/rewrite"
)

// errUnmoved is the reason why a base row has not taken what its slots hold.
type errUnmoved string

func (e errUnmoved) Error() string { return string(e) }

// refused explains the error of a statement that moves slots.
func (e *engine) refused(t *rewrite.Table, err error) error {
	if reason, ok := err.(errUnmoved); ok {
		return &NotMovedError{Table: t.Name, Reason: string(reason)}
	}
	if reason, ok := e.unmoved(err); ok {
		return &NotMovedError{Table: t.Name, Reason: reason, Err: err}
	}
	if !e.notApplied(err) || e.retryable(err) || e.conflict(err) || e.lockTimeout(err) || e.schemaChanged(err) || e.txEnded(err) {
		return err
	}
	return &NotMovedError{Table: t.Name, Reason: fmt.Sprintf("the database rejects it. The counter's column must be able to hold the total, and no constraint, trigger or missing privilege may prevent the update (run `slotsql check`, repair table %s, and retry)", t.Name), Err: err}
}
