// Package upkeep prepares a database for slotsql, and takes slotsql out again.
// Check compares it with the configuration; Migrate creates and adapts slot tables,
// DDL returns the statements for that; Drain folds all slots of tables into the
// base rows; MigrateDown drops the slot tables.
//
// All but Drain work where slot tables are missing, and opening a wrapped database
// fails.
package upkeep
