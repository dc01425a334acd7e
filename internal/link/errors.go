package link

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// ErrUnsupported is matched by the error of a statement that cannot be run
// exactly; the error is an *UnsupportedError.
var ErrUnsupported = errors.New("slotsql: statement is not supported")

// UnsupportedError gives the reason why a statement was refused, and what to do instead. No
// part of the statement has run.
type UnsupportedError struct {
	Table  string // the counter table concerned, the first of several; empty where none is known
	Reason string
}

// Error names the reason, which says what to do.
func (e *UnsupportedError) Error() string { return "slotsql: " + e.Reason }

// Is matches ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// ErrDrain is matched by the error of a statement that would drain a table
// whose configuration says on_drain: error; the error is a *DrainError.
var ErrDrain = errors.New("slotsql: statement would drain a counter table")

// DrainError gives the reason why a statement would have drained. No part of the statement
// has run.
type DrainError struct {
	Table  string // with on_drain: error
	Reason string
}

// Error names the table and the reason.
func (e *DrainError) Error() string {
	return fmt.Sprintf("slotsql: the statement would drain table %q, which is configured with on_drain: error: %s", e.Table, e.Reason)
}

// Is matches ErrDrain.
func (e *DrainError) Is(target error) bool { return target == ErrDrain }

// ErrNotMoved is matched by the error of a drain or roll-up that could not move
// slots into the base rows; the error is a *NotMovedError.
var ErrNotMoved = errors.New("slotsql: slots could not be moved into base rows")

// NotMovedError gives the reason why slots could not be moved into the base rows of a table.
// The slots are unchanged, and so are the totals.
type NotMovedError struct {
	Table  string
	Reason string
	Err    error // the database's own; nil where it has accepted the statement
}

// Error names the table, the reason, and the database's own error.
func (e *NotMovedError) Error() string {
	text := fmt.Sprintf("slotsql: the slots of table %q could not be moved into its rows and are unchanged: %s", e.Table, e.Reason)
	if e.Err != nil && !strings.Contains(e.Err.Error(), e.Reason) {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is matches ErrNotMoved.
func (e *NotMovedError) Is(target error) bool { return target == ErrNotMoved }

// Unwrap returns the database's own error.
func (e *NotMovedError) Unwrap() error { return e.Err }

// Settled makes an error safe to return to database/sql after a possible side effect: database/sql
// runs a statement again if its error is, or wraps, driver.ErrBadConn.
func Settled(err error) error {
	if err == nil || !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, driver.ErrSkip) {
		return err
	}
	return &UnknownOutcomeError{err.Error()}
}

// unappliedError is the loss of a connection before anything of the statement has been applied:
// database/sql may run it on another connection.
type unappliedError struct{ error }

// Unapplied marks an error as one before which nothing was applied.
func Unapplied(err error) error { return &unappliedError{err} }

// stillConnected removes that mark: the connection has been used since, so the parent cannot have
// closed it.
func stillConnected(err error) error {
	if u := (*unappliedError)(nil); errors.As(err, &u) {
		return u.error
	}
	return err
}

// UnknownOutcomeError is an error after which it is not known whether the statement has been applied, such as the loss of a
// connection in the middle of it. It deliberately does not wrap the parent's error: see Settled.
type UnknownOutcomeError struct{ Cause string }

func (e *UnknownOutcomeError) Error() string {
	return "slotsql: the statement may or may not have been applied: " + e.Cause
}
