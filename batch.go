package slotsql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/slotsql/slotsql/rewrite"
)

// A batch is the members of one statement, its leader first. It adds to the
// rows that they name, each of them once.
type batch struct {
	members []*member
	rows    []batchRow
	index   map[rowKey]int // of rows, when there are several
	many    bool           // may be for more than one

	mu      sync.Mutex
	waiting int // members whose caller still waits
	cancel  context.CancelFunc
}

// A batchRow is what one statement does to one row.
type batchRow struct {
	key   []int64
	sums  []int64
	place place // that it adds to; of many rows
	row   rowKey
}

// maxBatchRows bounds a statement.
const maxBatchRows = 256

// newBatch makes a batch of one member. Of a group of many rows it is for many
// if the row has a place that is known to be there: else the member makes it, in a
// statement of its own row.
func (g *shareGroup) newBatch(leader *member) *batch {
	b := &batch{}
	row := batchRow{row: leader.row, key: leader.key, sums: slices.Clone(leader.adds)}
	if g.many {
		row.place, b.many = g.seats.take(leader.row)
	}
	b.rows = []batchRow{row}
	b.board(leader)
	return b
}

func (b *batch) add(r batchRow) {
	if b.index == nil {
		b.index = map[rowKey]int{b.rows[0].row: 0}
	}
	b.index[r.row] = len(b.rows)
	b.rows = append(b.rows, r)
}

// find returns the number of a row; false when the batch is not for it.
func (b *batch) find(row rowKey) (int, bool) {
	if b.index == nil {
		return 0, b.rows[0].row == row
	}
	i, ok := b.index[row]
	return i, ok
}

func (b *batch) board(m *member) {
	m.state, m.batch = aboard, b
	b.members = append(b.members, m)
	b.waiting++
}

// admit takes a member along if the sums of its row stay within their limits, and are
// not nothing: engines differ in what a sum of nothing affects.
func (b *batch) admit(m *member, g *shareGroup) bool {
	i, ok := b.find(m.row)
	if !ok {
		if !b.many || len(b.rows) == maxBatchRows {
			return false
		}
		p, known := g.seats.take(m.row)
		if !known {
			return false
		}
		b.add(batchRow{row: m.row, key: m.key, sums: slices.Clone(m.adds), place: p})
		b.board(m)
		return true
	}
	sums := b.rows[i].sums
	nothing := true
	for i, n := range m.adds {
		sum := sums[i] + n
		if sum > g.max[i] || sum < -g.max[i] {
			return false
		}
		nothing = nothing && sum == 0
	}
	if nothing {
		return false
	}
	for i, n := range m.adds {
		sums[i] += n
	}
	b.board(m)
	return true
}

// abandon notes that the caller of a member does not wait any more. The
// statement is cancelled when nobody waits for it. The shard's lock is held.
func (b *batch) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting--; b.waiting == 0 && b.cancel != nil {
		b.cancel()
	}
}

// tell gives every member but the leader its verdict.
func (b *batch) tell(v verdict) {
	for _, m := range b.members[1:] {
		m.verdict <- v
	}
}

// split makes a batch of each row, when nothing has come of the statement for
// all of them, and has one of its members lead it. So a row that others hold
// keeps its own members waiting, and nobody else's.
func (g *shareGroup) split(b *batch) {
	parts := make([]*batch, len(b.rows))
	for i, r := range b.rows {
		parts[i] = &batch{rows: []batchRow{r}}
	}
	g.shard.mu.Lock()
	for _, m := range b.members {
		i := b.index[m.row]
		parts[i].members = append(parts[i].members, m)
	}
	g.leaders += len(parts)
	g.shard.mu.Unlock()
	for _, part := range parts {
		if !g.hand(part) {
			g.next()
		}
	}
}

// hand has one of a batch's members lead it, without those whose callers have
// given up: nothing has come of their increments. It says whether there is
// anyone.
func (g *shareGroup) hand(b *batch) bool {
	g.shard.mu.Lock()
	defer g.shard.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	members := b.members
	b.members, b.waiting = nil, 0
	clear(b.rows[0].sums)
	for _, m := range members {
		if m.state == gone {
			continue
		}
		for i, n := range m.adds {
			b.rows[0].sums[i] += n
		}
		b.board(m)
	}
	if len(b.members) == 0 {
		return false
	}
	b.members[0].state = leading
	b.members[0].verdict <- verdict{outcome: lead, batch: b}
	return true
}

// accept says that a member begins to run the batch that it has been handed.
func (m *member) accept() {
	m.group.shard.mu.Lock()
	defer m.group.shard.mu.Unlock()
	m.state = aboard
}

// value is a part of a statement for many rows: each has its key, its slot, and
// what is added to its counters.
func (b *batch) value(a rewrite.Arg, shares []rewrite.Share) any {
	if a.Many == rewrite.ManyCount {
		return int64(len(b.rows))
	}
	var out []byte
	for _, r := range b.rows {
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
		return strconv.AppendInt(out, r.place.slot, 10)
	default:
		return fmt.Append(out, decimal(r.sums[i-1], shares[i-1].Scale))
	}
}

// decimal writes units of a digit behind the point as a number.
func decimal(n int64, scale int) any {
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
