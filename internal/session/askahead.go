package session

import (
	"context"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A transaction that reads a counter which it has incremented on the base row has had the row's
// lock since the increment. So it need not wait for the drain's lock statement before it asks
// another session for the row's slots: the question is sent while that statement runs.

// aheadAnswer is the answer to such a question.
type aheadAnswer struct {
	sql string
	baseAnswer
}

// askAhead asks another session for the slots of a row that the transaction has locked, and returns
// nil if it cannot ask. The transaction has no slots of its own in the table.
func (c *Conn) askAhead(ctx context.Context, ch *rowChange) *aheadAnswer {
	d := &ch.rows
	n := c.namer()
	if n == nil || !ch.locked || c.Cluster || c.Tx.Own() || !lockOfKey(d) || d.Folding != rewrite.FoldByName || c.addedToSlots(d.Table) ||
		len(d.Table.Counter.Rights.Ungranted) > 0 || !n.Nameable(d.Table) || c.isBareRow(d.Table, ch.key) {
		return nil
	}
	key := make([]any, len(ch.key))
	for i, k := range ch.key {
		key[i] = k
	}
	sql := n.FindSlots(d.Table, [][]any{key}, false)
	if sql == "" {
		return nil
	}
	a := &aheadAnswer{sql: sql, baseAnswer: baseAnswer{done: make(chan struct{})}}
	go func() {
		defer close(a.done)
		a.rows, a.err = c.Shared.sides.observers.query(ctx, c.Shared, n, nil, sql)
	}()
	return a
}

// wait returns the answer.
func (a *aheadAnswer) wait(ctx context.Context) ([][]any, error) {
	select {
	case <-a.done:
		return a.rows, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hasNone reports whether the answer came from the given server and is that the row has no slots.
func (a *aheadAnswer) hasNone(ctx context.Context, server string) bool {
	rows, err := a.wait(ctx)
	return err == nil && len(rows) > 0 && link.TextOf(rows[0][0]) == server && len(namedSlots(rows)) == 0
}

// askAnother asks another session, or returns the answer if it has been asked ahead.
func (r *Run) askAnother(ctx context.Context, q string, args []any) ([][]any, error) {
	if a := r.ahead; a != nil && a.sql == q && len(args) == 0 {
		r.ahead = nil
		return a.wait(ctx)
	}
	s := r.conn.Shared
	return s.sides.observers.query(ctx, s, r.conn.namer(), nil, q, args...)
}
