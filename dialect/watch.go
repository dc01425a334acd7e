package dialect

import "context"

// A WrittenName names a table as a statement of the session would: without a
// schema where the session resolves it.
type WrittenName struct{ Schema, Name string }

// A Mark stands for the definition of a table at one moment: two equal marks of
// a name mean that the same table is meant, and that nothing of it has been
// changed which Table or Views returns, but for Referencing. The zero Mark is
// that of a name that means nothing.
type Mark struct {
	Schema, Name string // of the table that the name means, as stored
	Version      string
}

// A Watcher is a Dialect that can tell cheaply whether tables have changed. What
// Table and Views learn to read of a table must be added to its mark.
type Watcher interface {
	// Marks returns the mark of each name, in their order. It sends a number of
	// queries that does not depend on the number of names, waits for no
	// transaction but one that is changing the schema, and reads no table's rows.
	Marks(ctx context.Context, s Session, names []WrittenName) ([]Mark, error)
}
