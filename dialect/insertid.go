package dialect

// An InsertIDSetter is a dialect whose sessions have a last insert ID.
type InsertIDSetter interface {
	// SetInsertID returns a statement that sets the session's last insert ID to n.
	SetInsertID(n int64) string
}
