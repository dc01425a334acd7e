package lex

import "strconv"

// Placeholders numbers placeholders in the order in which they are added, as the engines do: each
// plain ? is the next position, ?N and $N name their position, and a name that is new takes the
// next position.
type Placeholders struct {
	// Count is the number of arguments that a statement with these placeholders takes.
	Count int

	next  int
	named map[string]int
}

// maxNames is more named placeholders than any engine accepts.
const maxNames = 1 << 16

// Add returns the position of the argument that a placeholder takes, from 0, and its name;
// ok is false for a placeholder that no engine accepts.
func (c *Placeholders) Add(tok string) (index int, name string, ok bool) {
	index, ok = c.next, true
	switch {
	case tok == "?":
		c.next++
	case IsDigit(tok[1]) && (tok[0] == '?' || tok[0] == '$'): // :1 has a name
		n, err := strconv.Atoi(tok[1:])
		if ok = err == nil && n >= 1 && n <= 1<<20; !ok {
			n = 1
		}
		index = n - 1
		c.next = max(c.next, n)
	default:
		name = tok[1:]
		if i, had := c.named[tok]; had {
			index = i
			break
		}
		if ok = len(c.named) < maxNames; !ok {
			break
		}
		if c.named == nil {
			c.named = map[string]int{}
		}
		c.named[tok] = c.next
		c.next++
	}
	c.Count = max(c.Count, index+1)
	return index, name, ok
}
