// Package catalog holds the facts of the configured tables, their slot tables and
// the views over them. Catalog reads them from the database, notices when they
// change, and compares them with the configuration; Schema is one state of the
// facts with the planner and the plan cache that belong to it. The only place
// where a rewrite.Counter is made is CheckTables.
//
// It changes no data. Creating and adapting slot tables is package upkeep's.
package catalog
