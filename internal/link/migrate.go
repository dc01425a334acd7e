package link

import (
	"context"
	"errors"

	"github.com/slotsql/slotsql/dialect"
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
		if l := c.Engine.limits; l != nil && c.Tx.Own() {
			if err := c.Session().Exec(ctx, l.LiftLimits()); err != nil {
				return err
			}
		}
		for _, q := range ddl {
			if d, ok := c.DB.Dialect.(dialect.StatementLimited); ok {
				q = d.WithoutLimits(q)
			}
			if err := c.Own().Exec(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
}
