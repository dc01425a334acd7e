package session

import "context"

// retrying runs f, which is undone as a whole where it fails, again while
// others are in its way, unless other statements are undone, or stay, with it.
func (r *Run) retrying(ctx context.Context, f func(context.Context) (answer, error)) (answer, error) {
	auto := r.conn.InAutocommit() && !r.partsStay && !r.Plan.Base.Several
	for tries := 1; ; tries++ {
		a, err := f(ctx)
		if !auto || r.conn.Broken || !r.conn.Retry(ctx, tries, err) {
			return a, err
		}
	}
}
