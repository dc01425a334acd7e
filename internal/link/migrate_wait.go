package link

import (
	"context"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// DDL of a slot table needs locks on it, or on its base table, for which it has to wait for every
// transaction that has merely read the table. While it waits, every session that uses the table
// next waits behind it. So it asks for a lock only briefly, and between two attempts leaves the
// others a multiple of the time that the attempt took: they lose a small share of their time,
// however long the transaction takes. If such transactions follow one another without a gap, only
// an attempt that waits can succeed: so now and then one waits longer.

const (
	// migratePatience is how long attempts go on.
	migratePatience = time.Minute
	briefWait       = 50 * time.Millisecond
	longWait        = time.Second
	longWaitEvery   = 10 * time.Second
	firstLongWait   = time.Second // after the first attempt
	// migratePause is the minimum time between two attempts, and migrateShare the multiple of the
	// time that the last attempt took.
	migratePause = 50 * time.Millisecond
	migrateShare = 5
)

// MigratePatiently runs the DDL of a slot table, in one transaction where the
// engine has transactional DDL.
func (c *Conn) MigratePatiently(ctx context.Context, ddl []string) error {
	begun := time.Now()
	longed := begun.Add(firstLongWait - longWaitEvery)
	for {
		start := time.Now()
		wait := briefWait
		if start.Sub(longed) > longWaitEvery {
			wait, longed = longWait, start
		}
		err := c.migrateWaiting(ctx, ddl, wait)
		if err == nil || !c.Engine.Retryable(err) || c.Rare.Any(Broken) {
			return err
		}
		if time.Since(begun) > migratePatience {
			return fmt.Errorf(
				"%w (other transactions kept the table locked for %s: try again, or avoid the foreign key's lock on the base table with --no-foreign-keys)",
				err,
				migratePatience,
			)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(migratePause, migrateShare*time.Since(start))):
		}
	}
}

// MigrateBriefly runs the DDL of a slot table once, and gives up soon if other sessions have the
// table locked.
func (c *Conn) MigrateBriefly(ctx context.Context, ddl []string) error {
	return c.migrateWaiting(ctx, ddl, briefWait)
}

// migrateWaiting has statements wait for a lock for that time at most, or as briefly as the engine can, and leaves
// the session's settings as they were. A connection whose settings cannot be restored is not used again.
func (c *Conn) migrateWaiting(ctx context.Context, ddl []string, wait time.Duration) error {
	d, ok := c.DB.Dialect.(dialect.BriefLocker)
	if !ok {
		return c.Migrate(ctx, ddl)
	}
	brief, restore := d.Briefly(ddl, wait)
	err := c.Migrate(ctx, brief)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DB.Patience)
	defer cancel()
	for _, q := range restore {
		if c.Rare.Any(Broken) {
			break
		}
		if _, failed := c.ParentExec(ctx, q, nil); failed != nil {
			c.Rare.Set(Broken)
		}
	}
	return err
}
