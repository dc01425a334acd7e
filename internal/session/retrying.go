package session

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
)

// retrying runs f, which is undone as a whole if it fails, again after a retryable error, unless
// other statements are undone with it, or stay: what a procedure has committed stays.
func (r *Run) retrying(ctx context.Context, f func(context.Context) (answer, error)) (answer, error) {
	const calls = rewrite.TxControl | rewrite.SessionChange
	auto := r.conn.InAutocommit() && !r.partsStay && !r.Plan.Base.Several && r.Plan.Effects&(calls|rewrite.SchemaChange) != calls
	for tries := 1; ; tries++ {
		a, err := f(ctx)
		if !auto || r.conn.Broken || !r.conn.Retry(ctx, tries, err) {
			return a, err
		}
	}
}
