package link

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.Session = (*Own)(nil)

// Own runs statements that slotsql sends for itself, and not for a statement of the application,
// on any connection: those that read the catalog or take a lease. They run without the limits that
// the application has set for its own, and leave the session's settings as they are: see
// dialect.LimitLifter. With a parent that pipelines that costs no round trip outside transactions.
type Own Conn

// Own returns the connection for such statements.
func (c *Conn) Own() *Own { return (*Own)(c) }

// Query implements dialect.Session.
func (o *Own) Query(ctx context.Context, sql string, args ...any) ([][]any, error) {
	c := (*Conn)(o)
	switch {
	case c.Engine.limits == nil || c.Tx.Own(): // slotsql's own connections begin it without limits, see Conn.Opening
		return c.Session().Query(ctx, sql, args...)
	case c.InAutocommit():
		for tries := 1; ; tries++ {
			out, err := c.queryUnlimited(ctx, sql, args)
			if !c.Retry(ctx, tries, err) {
				return out, err
			}
		}
	}
	return c.queryInTx(ctx, sql, args)
}

// Exec implements dialect.Session.
func (o *Own) Exec(ctx context.Context, sql string, args ...any) error {
	if c := (*Conn)(o); c.Engine.limits == nil {
		return c.Session().Exec(ctx, sql, args...)
	}
	_, err := o.Query(ctx, sql, args...)
	return err
}

// queryUnlimited runs a statement in a transaction of its own that begins without limits.
func (c *Conn) queryUnlimited(ctx context.Context, sql string, args []any) ([][]any, error) {
	lift := c.Engine.limits.LiftLimits()
	out, err := c.pipeline(ctx, []dialect.Statement{{SQL: lift}, {SQL: sql, Args: NamedValues(args)}})
	if err == nil {
		return Anys(out[1].Rows), nil
	}
	if err != driver.ErrSkip {
		return nil, err
	}
	var rows [][]any
	err = c.InOwnTx(ctx, func() error {
		if err := c.Session().Exec(ctx, lift); err != nil {
			return err
		}
		rows, err = c.Session().Query(ctx, sql, args...)
		return err
	})
	return rows, err
}

// queryInTx runs a statement in a transaction of the application, whose settings it puts back. If
// the statement fails, the transaction has failed, and the settings end with it.
func (c *Conn) queryInTx(ctx context.Context, sql string, args []any) ([][]any, error) {
	l := c.Engine.limits
	was, err := c.Session().Query(ctx, l.Limits())
	if err != nil {
		return nil, err
	}
	if err := c.Session().Exec(ctx, l.LiftLimits()); err != nil {
		return nil, err
	}
	rows, err := c.Session().Query(ctx, sql, args...)
	if err == nil && len(was) == 1 {
		err = c.Session().Exec(ctx, l.SetLimits(), was[0]...)
	}
	return rows, err
}

// pipeline sends statements in one round trip. It returns driver.ErrSkip if the parent cannot.
func (c *Conn) pipeline(ctx context.Context, list []dialect.Statement) ([]dialect.Outcome, error) {
	if c.Engine.Pipeliner == nil {
		return nil, driver.ErrSkip
	}
	c.Tx.Read()
	return c.Engine.Pipeliner.PipelineOnce(ctx, c.Parent, list)
}
