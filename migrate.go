package slotsql

import (
	"context"
	"errors"
)

// migrate runs the DDL of a slot table. The statements may be repeated and
// run by many processes at once: each dialect writes them so, given that they
// run in one transaction where the engine has transactional DDL. Where it has
// not, a transaction of the application must not be ended by them.
func (c *link) migrate(ctx context.Context, ddl []string) error {
	if !c.db.dialect.Drain().Nested && c.engine.watcher == nil {
		open, err := c.inTransaction(ctx)
		if err != nil {
			return err
		}
		if open {
			return errors.New("slotsql: a slot table is missing and cannot be created inside a transaction; run `slotsql migrate`")
		}
	}
	return c.inTx(ctx, func() error {
		for _, q := range ddl {
			if err := c.discard(ctx, q, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
