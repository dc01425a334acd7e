// Package link is a connection of the parent driver for slotsql's own statements.
// Conn sends them by whichever interfaces the parent offers, knows whether the
// session is in a transaction, and classes errors (Engine). The typed errors that
// a user sees are here, too.
//
// It plans nothing: what the application sends goes through package session.
package link
