package slots

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/slotsql/slotsql/rewrite"
)

// A Batch is the members of one statement, its leader first. The statement adds once to each of
// the rows that they name.
type Batch struct {
	Members []*Member
	Rows    []batchRow
	index   map[RowKey]int // of Rows, if there are several
	Many    bool           // it may have more than one row

	Mu      sync.Mutex
	waiting int // number of members whose caller still waits
	Cancel  context.CancelFunc
}

// A batchRow is what the statement does to one row.
type batchRow struct {
	key   []int64
	Sums  []int64
	Place Place // that it adds to; of many rows
	Row   RowKey
}

// These bound the rows of a statement, and the members of a row.
const (
	maxBatchRows = 256
	maxMembers   = 1024
)

// newBatch makes a batch of one member. In a group of many rows it takes members of other rows if
// its own row has a slot that is known to exist; otherwise the member creates the slot, in a
// statement for its row only.
func (g *Group) newBatch(leader *Member) *Batch {
	b := &Batch{}
	row := batchRow{Row: leader.Row, key: leader.Key, Sums: slices.Clone(leader.Adds)}
	if g.form.Many {
		row.Place, b.Many = g.form.place(leader.Row)
	}
	b.Rows = []batchRow{row}
	b.take(leader)
	return b
}

// place returns where a statement for many rows adds to one of them; false if it cannot.
func (f *Form) place(row RowKey) (Place, bool) {
	if f.Base {
		return Place{}, true
	}
	return f.Picker.pickKnown(row)
}

func (b *Batch) add(r batchRow) {
	if b.index == nil {
		b.index = map[RowKey]int{b.Rows[0].Row: 0}
	}
	b.index[r.Row] = len(b.Rows)
	b.Rows = append(b.Rows, r)
}

// find returns the index of a row; false if the batch does not have it.
func (b *Batch) find(row RowKey) (int, bool) {
	if b.index == nil {
		return 0, b.Rows[0].Row == row
	}
	i, ok := b.index[row]
	return i, ok
}

func (b *Batch) take(m *Member) {
	m.state, m.batch = stateTaken, b
	b.Members = append(b.Members, m)
	b.waiting++
}

// admit adds a member to the batch if the sums of its row stay within their limits, and are not
// all zero, where they add something: engines differ in what a sum of nothing affects.
func (b *Batch) admit(m *Member, g *Group) bool {
	i, ok := b.find(m.Row)
	if !ok {
		if !b.Many || len(b.Rows) == maxBatchRows {
			return false
		}
		p, known := g.form.place(m.Row)
		if !known {
			return false
		}
		b.add(batchRow{Row: m.Row, key: m.Key, Sums: slices.Clone(m.Adds), Place: p})
		b.take(m)
		return true
	}
	if len(b.Members) == maxMembers {
		return false
	}
	sums := b.Rows[i].Sums
	nothing := len(m.Adds) > 0
	for i, n := range m.Adds {
		sum := sums[i] + n
		if sum > g.max[i] || sum < -g.max[i] {
			return false
		}
		nothing = nothing && sum == 0
	}
	if nothing {
		return false
	}
	for i, n := range m.Adds {
		sums[i] += n
	}
	b.take(m)
	return true
}

// abandon notes that a member's caller no longer waits. Once no caller waits, the statement is
// cancelled. The shard's lock is held.
func (b *Batch) abandon() {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.waiting--; b.waiting == 0 && b.Cancel != nil {
		b.Cancel()
	}
}

// Deliver gives every member but the leader its verdict.
func (b *Batch) Deliver(v Verdict) {
	for _, m := range b.Members[1:] {
		m.Tell(v)
	}
}

// Split makes a batch of each row, after the statement for all of them has not been applied, and
// has one of its members lead it. So a row that other sessions have locked makes only its own
// members wait.
func (g *Group) Split(b *Batch) {
	parts := make([]*Batch, len(b.Rows))
	for i, r := range b.Rows {
		parts[i] = &Batch{Rows: []batchRow{r}}
	}
	g.shard.mu.Lock()
	for _, m := range b.Members {
		i := b.index[m.Row]
		parts[i].Members = append(parts[i].Members, m)
	}
	g.leaders += len(parts)
	g.shard.mu.Unlock()
	for _, part := range parts {
		if !g.handOver(part) {
			g.Next()
		}
	}
}

// handOver has one of a batch's members lead it, without the members whose callers have given up:
// their increments have not been applied. It reports whether any member is left.
func (g *Group) handOver(b *Batch) bool {
	g.shard.mu.Lock()
	defer g.shard.mu.Unlock()
	b.Mu.Lock()
	defer b.Mu.Unlock()
	members := b.Members
	b.Members, b.waiting = nil, 0
	clear(b.Rows[0].Sums)
	for _, m := range members {
		if m.state == stateGone {
			continue
		}
		for i, n := range m.Adds {
			b.Rows[0].Sums[i] += n
		}
		b.take(m)
	}
	if len(b.Members) == 0 {
		return false
	}
	b.Members[0].state = stateLeading
	b.Members[0].Tell(Verdict{Outcome: OutcomeLead, Batch: b})
	return true
}

// Accept notes that a member has begun to run the batch that was handed over to it.
func (m *Member) Accept() {
	m.Group.shard.mu.Lock()
	defer m.Group.shard.mu.Unlock()
	m.state = stateTaken
}

// Value returns an argument of a statement for many rows: the number of rows, one column of all of
// them, or all of their keys, slots and sums.
func (b *Batch) Value(a rewrite.Arg, shares []rewrite.Share) any {
	if a.Many == rewrite.ManyCount {
		return int64(len(b.Rows))
	}
	var out []byte
	for _, r := range b.Rows {
		out = append(out, ',')
		if a.Many == rewrite.ManyColumn {
			out = r.append(out, a.Column, shares)
			continue
		}
		open := len(out)
		for i := range len(r.key) + 1 + len(shares) {
			out = r.append(append(out, ','), i, shares)
		}
		out[open] = '['
		out = append(out, ']')
	}
	if a.Many == rewrite.ManyColumn {
		out[0] = '{'
		return string(append(out, '}'))
	}
	out[0] = '['
	return string(append(out, ']'))
}

// append appends a value of the row.
func (r *batchRow) append(out []byte, column int, shares []rewrite.Share) []byte {
	switch i := column - len(r.key); {
	case i < 0:
		return strconv.AppendInt(out, r.key[column], 10)
	case i == 0:
		return strconv.AppendInt(out, r.Place.Slot, 10)
	default:
		return fmt.Append(out, Decimal(r.Sums[i-1], shares[i-1].Scale))
	}
}

// Decimal returns a number of units of the last of scale digits after the decimal point.
func Decimal(n int64, scale int) any {
	if scale == 0 {
		return n
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	s := strconv.FormatInt(n, 10)
	if len(s) <= scale {
		s = strings.Repeat("0", scale-len(s)+1) + s
	}
	return sign + s[:len(s)-scale] + "." + s[len(s)-scale:]
}
