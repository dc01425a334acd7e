package catalog

import (
	"database/sql"
	"strings"
	"testing"
	"time"
)

// looks counts the looks since the last call.
func (r *recorder) looks() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queries {
		if strings.Contains(q, "'now'::pg_catalog.timestamptz") || strings.Contains(q, "SHOW GLOBAL STATUS") {
			n++
		}
	}
	r.queries = nil
	return n
}

// Several pools on one database look about as often as one, and each of them notices what another client changes.
func TestSeveralPoolsWatchOnce(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, dialect, 5)
			var parents []*recorder
			var pools []*sql.DB
			for range 3 {
				r := parent(t, p)
				parents, pools = append(parents, r), append(pools, open(t, p, r, counters))
			}
			turns := func(lasting time.Duration) time.Duration {
				began := time.Now()
				for time.Since(began) < lasting {
					for _, db := range pools {
						exec(t, db, increment)
					}
				}
				return time.Since(began)
			}
			turns(2 * time.Second) // until each has looked by itself
			for _, r := range parents {
				r.looks()
			}
			took, looks := turns(6*time.Second), 0
			for _, r := range parents {
				looks += r.looks()
			}
			// A look begins a second after the last one, and each pool looks by itself now and then.
			if most := int(took/time.Second) + 1 + len(pools); looks == 0 || looks > most {
				t.Errorf("%d looks in %v, want at most %d", looks, took, most)
			}

			exec(t, p.Under, "ALTER TABLE c1 ADD COLUMN y INTEGER")
			turns(3 * time.Second)
			for i, r := range parents {
				if _, readings := r.asked(); readings == 0 {
					t.Errorf("pool %d has not noticed the change", i)
				}
			}
		})
	}
}
