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

	Mu      sync.Mutex
	waiting int // number of members whose caller still waits
	Cancel  context.CancelFunc
}

// A batchRow is what the statement does to one row.
type batchRow struct {
	key  []int64
	Sums []int64
	Row  RowKey
}

// These bound the rows of a statement, and the members of a row.
const (
	maxBatchRows = 256
	maxMembers   = 1024
)

// newBatch makes a batch of one member.
func (g *Group) newBatch(leader *Member) *Batch {
	b := &Batch{Rows: []batchRow{{Row: leader.Row, key: leader.Key, Sums: slices.Clone(leader.Adds)}}}
	b.take(leader)
	return b
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
		if len(b.Rows) == maxBatchRows {
			return false
		}
		b.add(batchRow{Row: m.Row, key: m.Key, Sums: slices.Clone(m.Adds)})
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

// Value returns an argument of a statement for many rows: the number of rows, or all of their keys and sums.
func (b *Batch) Value(a rewrite.Arg, shares []rewrite.Share) any {
	if a.Many == rewrite.ManyCount {
		return int64(len(b.Rows))
	}
	var out []byte
	for _, r := range b.Rows {
		out = append(out, ',', '[')
		for i, k := range r.key {
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, k, 10)
		}
		for i, sum := range r.Sums {
			out = fmt.Append(append(out, ','), Decimal(sum, shares[i].Scale))
		}
		out = append(out, ']')
	}
	out[0] = '['
	return string(append(out, ']'))
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
