package slotsql

import "github.com/slotsql/slotsql/internal/link"

// ErrUnsupported is matched by the error of a statement that cannot be run
// exactly; the error is an *UnsupportedError.
var ErrUnsupported = link.ErrUnsupported

// UnsupportedError says why a statement was refused, and what to do instead.
// Nothing of the statement has been run.
type UnsupportedError = link.UnsupportedError

// ErrDrain is matched by the error of a statement that would drain a table
// whose configuration says on_drain: error; the error is a *DrainError.
var ErrDrain = link.ErrDrain

// DrainError says why a statement would have drained. Nothing of the statement
// has been run.
type DrainError = link.DrainError

// ErrNotMoved is matched by the error of a drain or roll-up that could not move
// slots into the base rows; the error is a *NotMovedError.
var ErrNotMoved = link.ErrNotMoved

// NotMovedError says why slots could not be moved into the base rows of a table.
// The slots are unchanged, and so are the totals.
type NotMovedError = link.NotMovedError
