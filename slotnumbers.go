package slotsql

import "sync"

// slotNumbers gives each live connection of a connector a number.
type slotNumbers struct {
	mu   sync.Mutex
	used []bool
}

// take returns the lowest number that no live connection holds.
func (n *slotNumbers) take() int {
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

func (n *slotNumbers) free(number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used[number] = false
}
