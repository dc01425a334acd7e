package dialect

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
)

// Temporary says of a session whether it may have temporary tables, which hide
// others of the same name.
type Temporary int

// What a session may have.
const (
	MayHide   Temporary = iota // it may have some
	NoneHides                  // it has none
)

// A Describer is a Dialect that reads the facts of many tables together: by a
// number of queries that does not depend on how many tables there are, none of
// which looks at any but those tables, at views of their databases, and at what
// belongs to these.
type Describer interface {
	// Describe is Table for each name, but for Referencing: nil where a name means
	// nothing. Two names of one table may share its facts.
	Describe(ctx context.Context, s Session, names []WrittenName, temporary Temporary) ([]*rewrite.Table, error)
	// ViewsOver is Views for each table, among the views within reach.
	ViewsOver(ctx context.Context, s Session, tables []*rewrite.Table, within Reach) ([][]string, error)
}

// Reach says where views are looked for, on an engine that would have to read the
// definition of every view to know.
type Reach int

// The databases that views are looked for in.
const (
	AllDatabases   Reach = iota
	TheirDatabases       // those of the tables, and the session's
)
