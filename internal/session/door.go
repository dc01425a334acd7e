package session

// What is rare about a session is asked in one place, and what follows from it is looked after where that has been asked: when a
// statement is planned, after it has run, and when the session goes back to the pool.

// ordinary reports whether the session is as nearly every session nearly always is: its connection works and is nobody else's, its
// facts hold, no statement has outlived its caller, and no number has to be set in it.
func (c *Conn) ordinary() bool {
	return !c.Broken && !c.Origin.Lent() && !c.Facts.Old() && c.detached.done == nil && c.insertID.state == insertIDKnown
}

// plannedBefore returns the plan of a statement that has run before, as any session may use it. It returns nil if the session
// is not an ordinary one, or if it is time to look at the tables.
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
