package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// call holds the arguments of one execution. Options are arguments that are
// meant for the parent driver and stand before the others.
type call struct {
	args    []driver.NamedValue
	options []driver.NamedValue
}

// via is how the SQL of a plan reaches the parent: as it is, or through
// statements prepared for it.
type via interface {
	execText(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error)
	queryText(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error)
	own(ctx context.Context, b *rewrite.Bound, args []driver.NamedValue) (driver.Result, error)
}

// direct is the via of db.Exec and db.Query.
type direct struct{ conn *Conn }

func (t direct) execText(ctx context.Context, p *rewrite.Plan, c call) (driver.Result, error) {
	if (p.Increment != nil || p.Group != nil) && len(c.options) == 0 && (len(c.args) > 0 || t.conn.Shared.Traits.SlowParse) {
		return t.own(ctx, &rewrite.Bound{SQL: p.Text}, c.args)
	}
	return t.conn.ParentExec(ctx, p.Text, link.JoinArgs(c.options, c.args))
}

func (t direct) queryText(ctx context.Context, p *rewrite.Plan, c call) (driver.Rows, error) {
	if p.Class == rewrite.Read && t.conn.Shared.Traits.SlowParse {
		if rows, err := t.conn.Kept.Query(ctx, &t.conn.Conn, p, p.Text, c.args); rows != nil || err != nil {
			return rows, err
		}
	}
	return t.conn.ParentQuery(ctx, p.Text, link.JoinArgs(c.options, c.args))
}

func (t direct) own(ctx context.Context, b *rewrite.Bound, args []driver.NamedValue) (driver.Result, error) {
	if t.conn.PreparesArgs || t.conn.Shared.Traits.SlowParse {
		st, err := t.conn.Kept.Get(ctx, &t.conn.Conn, b.SQL, b.SQL)
		if err != nil {
			return nil, err
		}
		return link.StmtExec(ctx, st, args)
	}
	return t.conn.ParentExec(ctx, b.SQL, args)
}

// ownQuery runs one of slotsql's statements that returns rows.
func (t direct) ownQuery(ctx context.Context, b *rewrite.Bound, args []driver.NamedValue) (driver.Rows, error) {
	if t.conn.PreparesArgs || t.conn.Shared.Traits.SlowParse {
		if rows, err := t.conn.Kept.Query(ctx, &t.conn.Conn, b.SQL, b.SQL, args); rows != nil || err != nil {
			return rows, err
		}
	}
	return t.conn.ParentQuery(ctx, b.SQL, args)
}
