// Package link is a connection of the parent driver for slotsql's own statements.
//
// Conn sends statements by whichever interfaces the parent offers (parent.go), keeps some of them
// prepared (kept.go), begins and ends transactions of slotsql's own (tx.go), and runs again what the
// engine has rolled back because of a conflict (retry.go). Tx is what is known about the session's
// transaction, Settings whether its settings are still as the connector opened it, Rare what is rare about it, and Drain how far
// a drain has come. Engine classes errors. The typed errors that a user sees are here, too.
//
// The package plans nothing: what the application sends goes through package session.
package link
