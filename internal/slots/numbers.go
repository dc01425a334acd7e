package slots

import "sync"

// Numbers gives each live connection of a connector a number.
type Numbers struct {
	mu   sync.Mutex
	used []bool
}

// Take returns the lowest number that no live connection holds.
func (n *Numbers) Take() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, used := range n.used {
		if !used {
			n.used[i] = true
			return i
		}
	}
	n.used = append(n.used, true)
	return len(n.used) - 1
}

// Free gives a number back.
func (n *Numbers) Free(number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used[number] = false
}
