// Package names finds what the names of a statement mean, as its engine does: which source a column is of,
// which table a source is, and whether the column is a counter.
//
// A Resolver is made for one statement (New). NewScope binds the sources of a block, and Resolve tells what a
// reference means there. It only looks up what could concern a counter; if it needs the columns of a table that the
// catalog does not know yet, the table is in Missing, and planning starts again once the catalog knows it.
//
//   - sources, aliases, CTEs, joins: scope.go; the catalog: lookup.go
//   - column references: resolve.go; those of one source, and the names that slotsql writes: table.go
//   - the result columns of queries, and *: outputs.go
//   - sources that a query of totals stands for, and what such a query has not: derived.go
//   - how engines differ: rules.go
//
// Where a meaning is not certain it returns an error: one of Opaque, or a DeriveError if a query in the place of a
// source would make it certain. The package knows no plan, and does not edit SQL.
package names
