package slotsql

import (
	"context"
	"database/sql/driver"
)

// execWhole runs f, which is undone as a whole where it fails, again while
// others are in its way, unless other statements are undone, or stay, with it.
func (r *run) execWhole(ctx context.Context, f func(context.Context) (driver.Result, error)) (driver.Result, error) {
	auto := r.conn.inAutocommit() && !r.apart && !r.plan.Several
	for tries := 1; ; tries++ {
		res, err := f(ctx)
		if !auto || r.conn.broken || !r.conn.again(ctx, tries, err) {
			return res, err
		}
	}
}
