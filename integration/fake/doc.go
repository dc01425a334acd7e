// Package fake is a parent driver without a database, for tests: connections with
// or without each optional interface, and a Server that logs what it is sent and
// fails at a chosen step.
package fake
