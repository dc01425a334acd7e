package slotsql

import (
	"strconv"

	"github.com/slotsql/slotsql/rewrite"
)

// slotOf returns the slot of a table that this connection writes. Where one
// connection writes at a time all share one slot.
func (c *conn) slotOf(t *rewrite.Table) int64 {
	if c.shared.dialect.Traits().OneWriter {
		return 0
	}
	return int64((c.shared.slotBase + c.slot) % t.Counter.Slots)
}

// A slotKey names the slot row that an increment of this connection adds to.
type slotKey struct {
	increment *rewrite.Increment
	values    string
}

// slotKey returns the slot row of this execution; false when the increment has
// no short form, or a key of a type whose equality is not plain.
func (r *run) slotKey() (slotKey, bool) {
	inc := r.plan.Increment
	if inc.Add == nil {
		return slotKey{}, false
	}
	k := slotKey{increment: inc}
	var b []byte
	for _, a := range inc.Key {
		v, ok := r.value(a)
		if !ok {
			return slotKey{}, false
		}
		switch x := v.Value.(type) {
		case int64:
			b = strconv.AppendInt(append(b, 'i'), x, 10)
		case int:
			b = strconv.AppendInt(append(b, 'i'), int64(x), 10)
		case string:
			b = append(strconv.AppendInt(append(b, 's'), int64(len(x)), 10), ':')
			b = append(b, x...)
		case []byte:
			b = append(strconv.AppendInt(append(b, 's'), int64(len(x)), 10), ':')
			b = append(b, x...)
		default:
			return slotKey{}, false
		}
	}
	k.values = string(b)
	return k, true
}

// slotMemory remembers which slot rows a connection has written, so that it
// adds to them by a plain update. It is only a guess: a row that has gone since
// then is not found by the update, and is made again by the upsert.
type slotMemory struct{ known map[slotKey]struct{} }

// maxKnownSlots bounds the memory; when it is full it starts anew.
const maxKnownSlots = 4096

func (m *slotMemory) has(k slotKey) bool {
	_, ok := m.known[k]
	return ok
}

func (m *slotMemory) add(k slotKey) {
	if m.known == nil || len(m.known) >= maxKnownSlots {
		m.known = map[slotKey]struct{}{}
	}
	m.known[k] = struct{}{}
}

func (m *slotMemory) forget(k slotKey) { delete(m.known, k) }
