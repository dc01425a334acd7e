package dialect

// An InsertIDSetter is a dialect whose sessions tell the last insert ID.
type InsertIDSetter interface {
	// SetInsertID returns a statement after which the session tells n.
	SetInsertID(n int64) string
}
