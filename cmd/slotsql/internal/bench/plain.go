package bench

import (
	"context"
	"errors"
)

// The scenarios that keep a counter in its row.

// naive is the statement that comes to mind first.
type naive struct{ *tables }

func newNaive(w *workload) Scenario { return naive{newTables(w)} }

// Setup implements Strategy.
func (s naive) Setup(ctx context.Context) error { return s.setup(ctx) }

// Increment implements Strategy.
func (s naive) Increment(ctx context.Context, c *Client) error {
	key := c.Key()
	return s.unit(ctx, false, key, func(q querier) error {
		return s.affects(ctx, q, "UPDATE "+s.pages+" SET views = views + 1 WHERE id = ?", key)
	})
}

func (s naive) Read(ctx context.Context, c *Client) error {
	_, err := s.read(ctx, c.Key())
	return err
}

func (s naive) read(ctx context.Context, key int64) (views int64, err error) {
	var title string
	err = s.db.QueryRowContext(ctx, s.Engine.q("SELECT title, "+s.counter+" FROM "+s.pages+" WHERE id = ?"), key).Scan(&title, &views)
	return views, err
}

// Total implements Strategy.
func (s naive) Total(ctx context.Context) (int64, error) { return s.sum(ctx, s.admin, s.pages) }

// forUpdate locks the row before it reads it, as programs do that compute the
// new value themselves.
type forUpdate struct{ naive }

func newForUpdate(w *workload) Scenario { return forUpdate{naive{newTables(w)}} }

// Setup implements Strategy.
func (s forUpdate) Setup(ctx context.Context) error {
	if s.Engine.locking == nil {
		return s.setup(ctx)
	}
	if err := s.createPages(ctx); err != nil {
		return err
	}
	return s.openPool(ctx, s.Engine.locking(s.DSN))
}

// Increment implements Strategy.
func (s forUpdate) Increment(ctx context.Context, c *Client) error {
	key := c.Key()
	return s.unit(ctx, true, key, func(q querier) error {
		var views int64
		query := "SELECT views FROM " + s.pages + " WHERE id = ?" + s.Engine.forUpdate
		if err := q.QueryRowContext(ctx, s.Engine.q(query), key).Scan(&views); err != nil {
			return err
		}
		return s.affects(ctx, q, "UPDATE "+s.pages+" SET views = ? WHERE id = ?", views+1, key)
	})
}

// lockFree writes only where no other client has written since it read (optimistic
// locking, compare and set). A counter never returns to an earlier value, so
// that the value itself serves as its version.
type lockFree struct{ naive }

func newLockFree(w *workload) Scenario { return lockFree{naive{newTables(w)}} }

// Increment implements Strategy.
func (s lockFree) Increment(ctx context.Context, c *Client) error {
	for key := c.Key(); ; c.retries++ {
		// Outside the transaction: inside one that has read, some isolation
		// levels keep showing it the old value.
		views, err := s.read(ctx, key)
		if err != nil {
			return err
		}
		err = s.unit(ctx, false, key, func(q querier) error {
			return s.affects(ctx, q, "UPDATE "+s.pages+" SET views = ? WHERE id = ? AND views = ?", views+1, key, views)
		})
		if !errors.Is(err, errNoRow) {
			return err
		}
	}
}
