package dialect

import (
	"context"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Temporary tells whether a session may have temporary tables, which hide other tables of
// the same name.
type Temporary int

// What a session may have.
const (
	MayHide   Temporary = iota // it may have some
	NoneHides                  // it has none
)

// A Describer is a Dialect that reads the facts of many tables together. The number of
// queries does not depend on the number of tables. They look only at these tables, at
// views in their databases, and at what belongs to these.
type Describer interface {
	// Describe returns what Table returns for each name, except Referenced and what TargetFinder is for: nil if a
	// name means nothing. Two names of one table may share its facts.
	Describe(ctx context.Context, s Session, names []WrittenName, temporary Temporary) ([]*schema.Table, error)
	// ViewsOver is Views for each table, among the views within reach.
	ViewsOver(ctx context.Context, s Session, tables []Viewed, within Reach) ([][]string, error)
}

// A TargetFinder is a Dialect of an engine that lets foreign keys refer to columns that are in
// no unique key. As it may take a look at every table of a database to find them, Describe
// leaves schema.ForeignKeys.Targets out.
type TargetFinder interface {
	// Targets sets Targets of tables that Describe has returned, by a number of queries that
	// does not depend on theirs. No foreign key refers to a column outside Storage.Indexed.
	Targets(ctx context.Context, s Session, tables []*schema.Table) error
}

// Reach limits where views are looked for, for an engine that has to read the definition
// of every view to find those of a table.
type Reach int

// The databases that views are looked for in.
const (
	AllDatabases   Reach = iota
	TheirDatabases       // those of the tables, and the session's
)
