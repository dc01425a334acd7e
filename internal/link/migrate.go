package link

import (
	"context"
	"errors"
)

// Migrate runs the DDL of a slot table. The statements may be repeated, and run by many processes
// at once: each dialect writes them so, provided that they run in one transaction where the engine
// has transactional DDL. Where it has not, they must not end a transaction of the application.
func (c *Conn) Migrate(ctx context.Context, ddl []string) error {
	if !c.DB.Dialect.Drain().Nested && c.Engine.Watcher == nil {
		open, err := c.InTransaction(ctx)
		if err != nil {
			return err
		}
		if open {
			return errors.New("slotsql: a slot table is missing and cannot be created inside a transaction; run `slotsql migrate`")
		}
	}
	return c.InOwnTx(ctx, func() error {
		for _, q := range ddl {
			if err := c.Discard(ctx, q, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
