package link

// Origin is whether a session is still as the connector opened it. Outside transactions, the same
// statement does the same in any two sessions that are. A session never becomes so again once a
// statement has changed a setting: that another one has changed it back is not noticed. What a hook
// of the connector may have changed is compared.
type Origin struct {
	settings settings
	role     role
	rows     rows
	lent     bool // code may be using the parent's connection
}

// settings is whether the settings of the session may have changed.
type settings byte

const (
	settingsAsOpened settings = iota
	settingsUnknown           // a hook may have changed them since they were compared
	settingsOther             // a hook has
	settingsChanged           // a statement may have, or code with the parent's connection
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

// Change notes that a statement may have changed settings of the session.
func (o *Origin) Change() { o.settings = settingsChanged }

// Lend notes that code has been given the parent's connection. It may use it whenever no statement
// runs, as long as it holds the sql.Conn.
func (o *Origin) Lend() {
	o.Change()
	o.lent = true
}

// Lent reports whether such code may use the connection.
func (o *Origin) Lent() bool { return o.lent }

// Hook notes that a hook of the connector may have changed settings of the session.
func (o *Origin) Hook() {
	if o.settings != settingsChanged {
		o.settings = settingsUnknown
	}
}

// Compare notes whether the settings are those of the connector's first session.
func (o *Origin) Compare(same bool) {
	switch {
	case o.settings != settingsUnknown:
	case same:
		o.settings = settingsAsOpened
	default:
		o.settings = settingsOther
	}
}

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

// Reset notes that the connection has gone back to the pool: its rows are closed, and nobody else
// uses it.
func (o *Origin) Reset() { o.rows, o.lent = rowsClosed, false }

// Dirty reports whether settings of the session may be others.
func (o *Origin) Dirty() bool { return o.settings != settingsAsOpened }

// RoleSet reports whether the role may be another than the session began with.
func (o *Origin) RoleSet() bool { return o.role != roleAsOpened }

// RoleUnknown reports whether the role may be another than the one whose rights are known.
func (o *Origin) RoleUnknown() bool { return o.role == roleUnknown }

// RowsOpen reports whether rows of a query may be open.
func (o *Origin) RowsOpen() bool { return o.rows == rowsOpen }
