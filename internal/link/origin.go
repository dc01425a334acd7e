package link

// Origin is whether a session is still as the connector opened it. Outside transactions, the same
// statement does the same in any two sessions that are. A session never becomes so again: that a
// statement has changed a setting back is not noticed.
type Origin struct {
	settings settings
	role     role
	rows     rows
}

// settings is whether the settings of the session may have changed.
type settings byte

const (
	settingsAsOpened settings = iota
	settingsChanged
)

// role is which role the session may have.
type role byte

const (
	roleAsOpened role = iota
	roleSet           // it may be another than the session began with
	roleUnknown       // nor are the rights of that one known
)

// rows is whether rows of a query may be open.
type rows byte

const (
	rowsClosed rows = iota
	rowsOpen
)

// Change notes that a statement, or code that uses the parent's connection, may have changed
// settings of the session.
func (o *Origin) Change() { o.settings = settingsChanged }

// SetRole notes that the session may have another role. If rightsKnown, the rights of that role
// are asked for with each statement.
func (o *Origin) SetRole(rightsKnown bool) {
	switch {
	case !rightsKnown:
		o.role = roleUnknown
	case o.role == roleAsOpened:
		o.role = roleSet
	}
}

// Query notes that rows may be open.
func (o *Origin) Query() { o.rows = rowsOpen }

// Reset notes that the connection has gone back to the pool: its rows are closed.
func (o *Origin) Reset() { o.rows = rowsClosed }

// Dirty reports whether settings of the session may have been changed.
func (o *Origin) Dirty() bool { return o.settings == settingsChanged }

// RoleSet reports whether the role may be another than the session began with.
func (o *Origin) RoleSet() bool { return o.role != roleAsOpened }

// RoleUnknown reports whether the role may be another than the one whose rights are known.
func (o *Origin) RoleUnknown() bool { return o.role == roleUnknown }

// RowsOpen reports whether rows of a query may be open.
func (o *Origin) RowsOpen() bool { return o.rows == rowsOpen }
