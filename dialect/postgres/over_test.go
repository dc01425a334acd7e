package postgres_test

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
)

func TestConflict(t *testing.T) {
	t.Parallel()
	over := postgres.Over{Dialect: postgres.New(), Fault: func(err error) (f postgres.Fault, ok bool) { return f, errors.As(err, &f) }}
	for _, c := range []struct {
		fault               postgres.Fault
		conflict, retryable bool
	}{
		{postgres.Fault{Code: "40P01"}, true, true},
		{postgres.Fault{Code: "40001"}, false, true},
		{postgres.Fault{Code: "55P03"}, false, true},
		{postgres.Fault{Code: "XX000", Routine: "MultiXactIdCreateFromMembers"}, true, true},
		{postgres.Fault{Code: "XX000", Routine: "heap_update"}, false, false},
		{postgres.Fault{}, false, false},
	} {
		if got := over.Conflict(c.fault); got != c.conflict {
			t.Errorf("%+v is a conflict: %v", c.fault, got)
		}
		if got := over.Retryable(c.fault); got != c.retryable {
			t.Errorf("%+v may be run once more: %v", c.fault, got)
		}
	}
}
