package session

// ordinary is the single test for rare states of a session. Planning a statement and taking the session out of the pool call it once,
// and examine the states one by one only if it is false.

// ordinary reports whether nothing about the session is rare: its connection works, nobody has been given the parent's connection, its
// facts are current, no statement has outlived its caller, and it owes no LAST_INSERT_ID.
func (c *Conn) ordinary() bool {
	return !c.Broken && !c.Origin.Lent() && !c.Facts.Old() && c.detached.done == nil && c.insertID.state == insertIDKnown
}

// plannedBefore returns the plan of a statement that has run before. It returns nil if the session is not an ordinary one, or if it is
// time to look at the tables.
func (c *Conn) plannedBefore(query string) *plan {
	if !c.ordinary() || c.Schema == nil || !c.Schema.Settled() || !c.Shared.Watch.Recent() {
		return nil
	}
	p := cached(&c.Schema.Plans, query)
	if p == nil || p.untouched && p.clears != c.Shared.Untouched.Clears() {
		return nil
	}
	return p
}
