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
	Parts        string // what else the mark is made of, for Glance
}

// A Glance is what a Watcher has seen without looking at the tables.
type Glance struct {
	// State is equal in two glances of one process only if no definition of the tables has
	// changed between them; "": the engine cannot tell.
	State string
	// Begun counts the changes that have begun, and that State may not show once they end.
	Begun string
	// Ended reports whether all changes that Begun counts have ended.
	Ended bool
}

// A Watcher is a Dialect that can find out cheaply whether tables have changed. Whatever
// else Table and Views begin to read about a table must be added to its mark.
type Watcher interface {
	// Marks returns the mark of each name, in their order. It sends a number of
	// queries that does not depend on the number of names, waits for no
	// transaction but one that is changing the schema, and reads no table's rows.
	Marks(ctx context.Context, s Session, names []WrittenName) ([]Mark, error)
	// Glance is a single query that costs the server a fraction of Marks, whatever the
	// number of names and tables. It may show a change where there is none. Names are
	// those that Marks has returned these marks of, always in the same order.
	Glance(ctx context.Context, s Session, names []WrittenName, marks []Mark) (Glance, error)
	// Server identifies the running server that the session is on, and what the session may see there beyond
	// its Namespace: it is different for any two servers, whatever they are called. "": the engine cannot tell.
	Server(ctx context.Context, s Session) (string, error)
}
