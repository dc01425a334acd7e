package schema

// Bounds are what the configuration says of how far a counter's total goes. Nothing
// enforces them but the application's own guards: they say on which side of zero slots
// stay, so that a part of the total may prove a guard.
type Bounds struct {
	Column   string
	Min, Max *Limit
}

// Limit is a bound of a counter: a number, or a column of the same row.
type Limit struct {
	Number int64
	Column string // "" for Number
}

// Side is the sign that slots of a counter may have.
type Side int

// The sides. A slot of a counter with a lower bound holds a portion that is reserved for
// no matter who takes from it: the total is at least the base value plus any of them. One with
// an upper bound holds, as a negative number, room that the base value counts as taken:
// the total is at most the base value plus any of them.
const (
	AnySide Side = iota
	NeverNegative
	NeverPositive
)

// Side returns the sign that slots of a counter may have. A counter that is bounded on both
// sides keeps room in its slots: what fills up is what many want a part of.
func (c *Counter) Side(column string) Side {
	switch b := c.BoundsOf(column); {
	case b == nil:
	case b.Max != nil:
		return NeverPositive
	case b.Min != nil:
		return NeverNegative
	}
	return AnySide
}

// BoundsOf returns the bounds of a counter, nil where it has none.
func (c *Counter) BoundsOf(column string) *Bounds {
	for i := range c.Bounds {
		if c.Bounds[i].Column == column {
			return &c.Bounds[i]
		}
	}
	return nil
}

// Refuses reports whether a slot may not take a number of that sign.
func (s Side) Refuses(negative bool) bool {
	return s == NeverNegative && negative || s == NeverPositive && !negative
}

// Takes reports whether adding a number takes from what slots hold.
func (s Side) Takes(n int64) bool { return s == NeverNegative && n < 0 || s == NeverPositive && n > 0 }
