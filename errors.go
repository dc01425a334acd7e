package slotsql

import "github.com/slotsql/slotsql/internal/link"

// ErrUnsupported is matched by the error of a statement that cannot be run
// exactly; the error is an *UnsupportedError.
var ErrUnsupported = link.ErrUnsupported

// UnsupportedError gives the reason why a statement was refused, and what to do instead.
// No part of the statement has run. Table is the counter table concerned, the first of
// several, "" if none is known; Reason is the reason. Error returns the message, and Is
// matches ErrUnsupported.
type UnsupportedError = link.UnsupportedError

// ErrDrain is matched by the error of a statement that would drain a table with on_drain:
// error. The error is a *DrainError.
var ErrDrain = link.ErrDrain

// DrainError gives the reason why a statement would have drained. No part of the
// statement has run. Table is a table with on_drain: error; Reason is the reason. Error
// returns the message, and Is matches ErrDrain.
type DrainError = link.DrainError

// ErrNotMoved is matched by the error of a drain or roll-up that could not move
// slots into the base rows; the error is a *NotMovedError.
var ErrNotMoved = link.ErrNotMoved

// NotMovedError gives the reason why slots could not be moved into the base rows of a
// table. The slots are unchanged, and so are the totals. Table is the table, Reason the
// reason, and Err the database's error, nil if the database has accepted the statement.
// Error returns the message, Is matches ErrNotMoved, and Unwrap returns Err.
type NotMovedError = link.NotMovedError
