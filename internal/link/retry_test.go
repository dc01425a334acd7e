package link

import (
	"errors"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var (
	errConflict = errors.New("conflict")
	errTimeout  = errors.New("lock timeout")
)

type classifier struct{ dialect.Dialect }

func (classifier) Traits() rewrite.Traits { return rewrite.Traits{} }

func (classifier) Classify(err error) dialect.ErrorClass {
	return map[error]dialect.ErrorClass{errConflict: dialect.Conflict, errTimeout: dialect.LockTimeout}[err]
}

// On a cluster a lock timeout is a conflict that has taken long, and is not waited for often.
func TestRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		cluster bool
		err     error
		tries   int // of a statement that always fails
	}{
		{"conflict", false, errConflict, MaxTries},
		{"conflict on a cluster", true, errConflict, MaxClusterTries},
		{"lock timeout", false, errTimeout, 1},
		{"lock timeout on a cluster", true, errTimeout, maxTimeouts + 1},
		{"another error", true, errors.New("another"), 1},
		{"none", true, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := &Conn{Engine: EngineOf(classifier{}), Cluster: c.cluster}
			for range 2 { // the second statement begins anew
				tries := 1
				for conn.Retry(t.Context(), tries, c.err) {
					tries++
				}
				if tries != c.tries {
					t.Errorf("%d tries, want %d", tries, c.tries)
				}
			}
		})
	}
}
