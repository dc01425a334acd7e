package session

// Whether something is rare about a session is asked here, once when a statement is planned and once when the session goes back to the
// pool. Only if so is it asked what.

// ordinary reports whether the session is as nearly every session nearly always is: its connection works and is nobody else's, its
// facts hold, no statement has outlived its caller, and no number has to be set in it.
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
