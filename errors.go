package slotsql

import "github.com/slotsql/slotsql/internal/link"

// ErrUnsupported is matched by the error of a statement that cannot be run
// exactly; the error is an *UnsupportedError.
var ErrUnsupported = link.ErrUnsupported

// UnsupportedError gives the reason why a statement was refused, and what to do instead.
// No part of the statement has run.
type UnsupportedError = link.UnsupportedError

// ErrDrain is matched by the error of a statement that would drain a table with on_drain:
// error. The error is a *DrainError.
var ErrDrain = link.ErrDrain

// DrainError gives the reason why a statement would have drained. No part of the
// statement has run.
type DrainError = link.DrainError

// ErrNotMoved is matched by the error of a drain or roll-up that could not move
// slots into the base rows; the error is a *NotMovedError.
var ErrNotMoved = link.ErrNotMoved

// NotMovedError gives the reason why slots could not be moved into the base rows of a
// table. The slots are unchanged, and so are the totals.
type NotMovedError = link.NotMovedError
