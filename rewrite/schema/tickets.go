package schema

// Tickets are what the configuration says of a counter whose numbers come from leased blocks:
// a process adds a block to the base row, and then gives its numbers one by one, without
// the database. So the base row is at or above every number that is leased, and whoever
// draws from it, by whatever client, draws a number above those.
type Tickets struct {
	Column string
	Block  int64 // the most that a process leases at once; 0: this process leases none
}

// TicketsOf returns those of a counter, nil where it has none.
func (c *Counter) TicketsOf(column string) *Tickets {
	for i := range c.Tickets {
		if c.Tickets[i].Column == column {
			return &c.Tickets[i]
		}
	}
	return nil
}
