package session

import (
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
)

// A statement for many rows counts for all of its members, or for none: they then share one with
// those of their row. Who waits for the write lock has waited as long as the leader.
func TestJudgeMany(t *testing.T) {
	t.Parallel()
	r := &Run{conn: WrapConn(New(fake.Probing, &config.Config{}), nil)}
	for name, c := range map[string]struct {
		affected int64
		err      error
		want     slots.Outcome
	}{
		"all rows":            {3, nil, slots.OutcomeCounted},
		"row is missing":      {0, nil, slots.OutcomeAlone},
		"lock timeout":        {0, fake.ErrTimeout, slots.OutcomeFailed},
		"refused":             {0, fake.ErrRefused, slots.OutcomeAlone},
		"some rows":           {2, nil, slots.OutcomeFailed},
		"bad connection":      {0, driver.ErrBadConn, slots.OutcomeRetry},
		"error of the parent": {0, errOops, slots.OutcomeFailed},
	} {
		got, err := judgeMany(r, c.affected, c.err, 3)
		if got != c.want || (err != nil) != (c.want == slots.OutcomeFailed) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if unknown := errors.As(err, new(*link.UnknownOutcomeError)); unknown != (c.affected == 2) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
