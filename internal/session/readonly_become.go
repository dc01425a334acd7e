package session

import (
	"context"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A transaction may change rows and then become READ ONLY. To read their counters it would first
// drain them (rowchange.go), which it may no longer do. So it drains them just before the
// statement that makes it READ ONLY: from then on it has them to itself until it ends, and reads
// them without a further drain. Rolling back to a savepoint gives up that drain and READ ONLY only
// together, since nothing comes between them.

// beforeReadOnly drains what the transaction has changed before it becomes READ ONLY.
func (c *Conn) beforeReadOnly(ctx context.Context, p *rewrite.Plan) error {
	if len(c.changes) == 0 || !slices.ContainsFunc(p.TxEvents, func(e lex.TxEvent) bool { return e.Kind == lex.TxReadOnly }) {
		return nil
	}
	if _, ok := c.Shared.Dialect.(dialect.ReadOnlyWatcher); !ok {
		return nil
	}
	if open, err := c.InTransaction(ctx); err != nil || !open {
		return err
	}
	var tables []*rewrite.Table
	for _, ch := range c.changes {
		tables = append(tables, ch.rows.Table)
	}
	if err := c.drainChangesOf(ctx, tables); err != nil {
		return err
	}
	c.access = drainedFirst
	return nil
}

// staysDrained reports whether the transaction drained what it had changed, then became READ ONLY,
// and still is.
func (r *Run) staysDrained(ctx context.Context) (bool, error) {
	w, ok := r.conn.Shared.Dialect.(dialect.ReadOnlyWatcher)
	if !ok || r.conn.access != drainedFirst {
		return false, nil
	}
	answer, err := r.ask(ctx, w.ReadOnlyQuery())
	return answer == "on", err
}
