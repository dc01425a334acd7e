package random_test

import (
	"context"
	"testing"

	"github.com/slotsql/slotsql/integration/random"
)

// share has the wrapped side plan two statements that differ from the step's in literals alone, so that the step runs
// by the plan that it shares with them: a plan is shared from the second statement of a shape on.
func (r *player) share(ctx context.Context, t *testing.T, s random.Step) {
	t.Helper()
	if s.Kind != random.Statement || s.Session == random.Restricted || control.MatchString(s.SQL) {
		return
	}
	if r.planning == nil {
		conn, err := r.pair.Wrapped.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r.planning = conn
	}
	for seed := range uint64(2) {
		if query := random.Alike(in(r.pair.WrappedDSN, s).SQL, seed); query != "" {
			if stmt, err := r.planning.PrepareContext(ctx, query); err == nil {
				_ = stmt.Close()
			}
		}
	}
}
