package session

import (
	"context"
	"database/sql/driver"
)

// execWhole runs f, which is undone as a whole where it fails, again while
// others are in its way, unless other statements are undone, or stay, with it.
func (r *Run) execWhole(ctx context.Context, f func(context.Context) (driver.Result, error)) (driver.Result, error) {
	auto := r.conn.InAutocommit() && !r.partsStay && !r.Plan.Base.Several
	for tries := 1; ; tries++ {
		res, err := f(ctx)
		if !auto || r.conn.Broken || !r.conn.Retry(ctx, tries, err) {
			return res, err
		}
	}
}
