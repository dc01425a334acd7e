package catalog

// Currency is how current a session's facts of tables are, and whether they are those of
// every session. Its zero value is that of a session that has just been opened.
//
// Whatever happens to the facts is one of its methods. None of them asks the database.
type Currency struct {
	age       age
	owner     owner
	schema    schemaChange
	namespace namespaceChange
	pending   bool // the open transaction has changed the session's own tables
}

// age is whether the facts hold.
type age byte

const (
	factsHold age = iota
	factsOld      // the namespace or its tables may be others than when they were read
)

// owner is whose the facts are.
type owner byte

const (
	factsShared  owner = iota // those of every session in the namespace
	factsOwn                  // the session's own, until its transaction has ended
	factsOwnTemp              // and for good: it may have temporary tables. They are read again when that may have changed
)

// schemaChange is whether the open transaction may have changed the schema.
type schemaChange byte

const (
	schemaAsCommitted schemaChange = iota
	othersAltered                  // tables about which no facts are known
	schemaAltered
)

// namespaceChange is whether the namespace, or the facts of its tables, may change back with
// the end of the open transaction.
type namespaceChange byte

const (
	namespaceSettled namespaceChange = iota
	namespaceAdrift
)

// Read notes that the facts have been read.
func (c *Currency) Read() { c.age = factsHold }

// ReadInTx notes that they have been read as the open transaction sees them.
func (c *Currency) ReadInTx() { c.age, c.namespace = factsHold, namespaceAdrift }

// ChangeRole notes that the session may have other rights.
func (c *Currency) ChangeRole() { c.own() }

// MoveNamespace notes that unqualified names may mean other tables; inTx: until the open
// transaction has ended.
func (c *Currency) MoveNamespace(inTx bool) {
	c.age, c.namespace = factsOld, namespaceSettled
	if inTx {
		c.namespace = namespaceAdrift
	}
}

// ChangeTables notes that a statement may have made, changed or dropped a table, or a
// temporary one. Other sessions must not take over what this one sees.
func (c *Currency) ChangeTables(temporary bool) {
	c.own()
	c.pending = true
	if temporary {
		c.owner = factsOwnTemp
	}
}

// Alter notes that the statement was about a table that other sessions know.
func (c *Currency) Alter() { c.schema = schemaAltered }

// AlterOthers notes that the statement was about a table about which no facts are known. As long as the transaction is open, no
// other session sees the change.
func (c *Currency) AlterOthers() { c.schema = max(c.schema, othersAltered) }

// Commit notes that what a statement has changed is committed. Role: the rights of the
// session's role are not known.
func (c *Currency) Commit(role bool) {
	c.schema, c.pending = schemaAsCommitted, false
	if c.owner == factsOwn && !role {
		c.owner = factsShared
	}
}

// Settled reports whether the end of a transaction leaves the facts as they are. Role as in
// Commit: what a session knows on account of its role does not depend on transactions.
func (c *Currency) Settled(role bool) bool {
	return c.schema == schemaAsCommitted && c.namespace == namespaceSettled && !c.pending && (c.owner != factsOwn || role)
}

// Settle notes that a transaction may have ended, or has (ended). It reports whether that
// may have given all sessions another schema: altered, in what they know, or others. Role as in Commit.
func (c *Currency) Settle(ended, role bool) (altered, others bool) {
	if c.Settled(role) {
		return false, false
	}
	altered, others = c.schema == schemaAltered, c.schema == othersAltered
	c.age = factsOld
	if ended {
		c.namespace = namespaceSettled
		c.Commit(role)
	}
	return altered, others
}

func (c *Currency) own() {
	c.age, c.owner = factsOld, max(c.owner, factsOwn)
}

// Old reports whether the facts have to be read again before they are used.
func (c *Currency) Old() bool { return c.age == factsOld }

// Private reports whether the facts are the session's own.
func (c *Currency) Private() bool { return c.owner != factsShared }

// HasTemporary reports whether the session may have temporary tables.
func (c *Currency) HasTemporary() bool { return c.owner == factsOwnTemp }

// Altered reports whether the open transaction may have changed the schema.
func (c *Currency) Altered() bool { return c.schema != schemaAsCommitted }

// Shared reports whether the session, when it reads the facts, reads what every session would.
func (c *Currency) Shared() bool { return c.owner == factsShared && c.schema == schemaAsCommitted }

// Common reports whether the facts are those that every session has.
func (c *Currency) Common() bool { return c.age == factsHold && c.Shared() }
