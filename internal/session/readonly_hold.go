package session

import (
	"context"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
)

// Another connection holds the lock of a drain on tables without slots. If it finds slots, it has
// to fold them and commit, so that others see the base values. But the commit also ends the lock:
// sessions that have waited for it go on to count, and there are slots again. If callers count
// without a pause that would never end. So after the first time two connections ask for the lock
// together. One gets it and folds; the other one is right behind it in the queue, before all who
// count, and finds nothing.

const holdPatience = 15 * time.Second // for the tables to be locked and without slots

// hold is the lock of a drain, in a transaction of slotsql's own.
type hold struct {
	run  *Run
	end  func(error) error // the transaction
	bare bool              // there are no slots
	err  error             // the lock was not taken, and the transaction has ended
}

// holdWithContext runs hold, which works on the tables on other connections and may lock them until
// release. It waits for that for holdPatience at most.
func (r *Run) holdWithContext(
	ctx context.Context, hold func(*Run, context.Context) (func() error, error),
) (release func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	cp := r.clone()
	late := func(release func() error, err error) {
		if err == nil && release != nil {
			_ = release()
		}
	}
	return link.WithContext(ctx, &r.conn.Shared.Database, func() (func() error, error) { return hold(cp, ctx) }, late)
}

// holdAside locks the tables on another connection, once they have no slots, until release.
func (r *Run) holdAside(ctx context.Context) (release func() error, err error) {
	if !r.conn.Shared.OpensAside {
		return nil, errUnheard
	}
	var opened []*Run
	closeAll := func() {
		for _, o := range opened {
			_ = o.conn.Parent.Close()
		}
	}
	for {
		if len(opened) < 2 {
			o, err := r.openHolder(ctx)
			if err != nil {
				closeAll()
				return nil, err
			}
			opened = append(opened, o)
		}
		h := holdFirst(ctx, opened)
		if h.err == nil && !h.bare {
			h.err = h.fold(ctx)
		}
		if h.err == nil && h.bare {
			return func() error {
				defer closeAll()
				return h.end(nil)
			}, nil
		}
		if h.err != nil && (ctx.Err() != nil || !h.run.conn.Engine.Retryable(h.err)) {
			closeAll()
			return nil, h.err
		}
	}
}

// openHolder opens a connection that is to hold the lock.
func (r *Run) openHolder(ctx context.Context) (*Run, error) {
	c, err := OpenOwn(ctx, r.conn.Shared)
	if err != nil {
		return nil, err
	}
	c.Opening = slices.Concat(c.Shared.Dialect.(dialect.ReadOnlyReader).Lift(), c.Opening)
	return r.wholeTables(c), nil
}

// holdFirst has all connections ask for the lock. It folds for each that gets the lock and finds
// slots, until one finds none, or the last one has the lock.
func holdFirst(ctx context.Context, all []*Run) (h hold) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	got := make(chan hold, len(all))
	for _, r := range all {
		go func() { got <- r.takeHold(waiting) }()
	}
	for left := len(all) - 1; ; left-- {
		h = <-got
		if left == 0 {
			return h
		}
		if h.err == nil && h.bare {
			cancel() // the other one waits for this lock; its connection is of no more use
			for range left {
				if o := <-got; o.err == nil {
					_ = o.end(ctx.Err())
				}
			}
			return h
		}
		if h.err == nil {
			_ = h.fold(ctx) // what fails is met again by the one behind
		}
	}
}

// takeHold takes the locks of a drain, and looks for slots.
func (r *Run) takeHold(ctx context.Context) hold {
	end, err := r.conn.BeginOwn(ctx)
	if err != nil {
		return hold{run: r, err: err}
	}
	bare := false
	if err = r.lockTables(ctx); err == nil {
		bare, err = r.bare(ctx)
	}
	if err != nil {
		return hold{run: r, err: end(err)}
	}
	return hold{run: r, end: end, bare: bare}
}

// fold moves the slots into the base rows, and gives the lock back.
func (h *hold) fold(ctx context.Context) error {
	_, err := h.run.drain(ctx)
	return h.end(err)
}

// lockTables takes the locks of a drain.
func (r *Run) lockTables(ctx context.Context) error {
	for i := range r.Plan.Drain.Tables {
		if _, err := r.lock(ctx, &r.Plan.Drain.Tables[i]); err != nil {
			return err
		}
	}
	return nil
}
