package dialect

import "context"

// A WrittenName is a table's name as a statement of the session would write it: without a
// schema if the session resolves it.
type WrittenName struct{ Schema, Name string }

// A Mark stands for the definition of a table at one moment. Two equal marks of a name
// mean that the name refers to the same table, and that nothing that Table or Views
// returns has changed, except Referencing. The zero Mark belongs to a name that means
// nothing.
type Mark struct {
	Schema, Name string // of the table that the name means, as stored
	Version      string
}

// A Watcher is a Dialect that can find out cheaply whether tables have changed. Whatever
// else Table and Views begin to read about a table must be added to its mark.
type Watcher interface {
	// Marks returns the mark of each name, in their order. It sends a number of
	// queries that does not depend on the number of names, waits for no
	// transaction but one that is changing the schema, and reads no table's rows.
	Marks(ctx context.Context, s Session, names []WrittenName) ([]Mark, error)
}
