package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
)

// For random schedules, of groups in slots and on the base row: what is acknowledged is counted, what has been
// cancelled before it began or refused is not, and of what came to an unknown
// end at most all of it.
func TestCoalesceSchedules(t *testing.T) {
	t.Parallel()
	runs := 60
	if testing.Short() {
		runs = 10
	}
	for _, more := range []string{"", ", placement: adaptive"} {
		for seed := range uint64(runs) {
			schedule(t, seed, more)
		}
	}
	grouped := uint64(0)
	for _, s := range Stats() {
		grouped += s.Grouped
	}
	if grouped == 0 {
		t.Error("no increment has shared a statement on the base row")
	}
}

// idle waits for the statements that have outlived their callers, after which
// none may lead or wait.
func (c *crowd) idle(seed uint64) {
	c.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		leaders, waiting := c.shared.coalescer.InFlight()
		if leaders == 0 && waiting == 0 {
			break
		}
		if time.Now().After(deadline) {
			c.Fatalf("seed %d: %d lead and %d wait after the end", seed, leaders, waiting)
		}
		time.Sleep(time.Millisecond)
	}
	for c.shared.placement.Held() > 0 {
		if time.Now().After(deadline) {
			c.Fatalf("seed %d: slots of %d rows are held after the end", seed, c.shared.placement.Held())
		}
		time.Sleep(time.Millisecond)
	}
}

func schedule(t *testing.T, seed uint64, more string) {
	t.Helper()
	fates := []fate{
		{err: fake.ErrRefused},
		{err: fake.ErrConflict},
		{nothing: true},
		{err: fake.ErrTimeout},
		{err: errLost, kill: true},
		{err: errLost, kill: true, applied: true},
		{err: driver.ErrBadConn, kill: true},
		{err: errOops, applied: true},
	}
	server := &countServer{behave: func(ctx context.Context, st statement) fate {
		if st.adds == 0 {
			return fate{}
		}
		switch n := rand.IntN(40); {
		case n < len(fates):
			return fates[n]
		case n < 20:
			select {
			case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
			case <-ctx.Done():
				return fate{err: ctx.Err(), kill: true, applied: rand.IntN(2) == 0}
			}
		}
		return fate{}
	}}
	c := &crowd{T: t, server: server}
	c.open(more)
	c.shared.coalescer.Pace.Most = 1 + int(seed%3)
	c.db.SetMaxOpenConns(24)
	var mu sync.Mutex
	var acknowledged, unknown [6]int64 // by row; 4 and 5 have no slots yet
	var wg sync.WaitGroup
	for client := range uint64(16) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, client))
			for range 30 {
				n, row := 1+rnd.Int64N(5), 1+rnd.Int64N(int64(1+seed%5))
				ctx, cancel := context.WithCancel(t.Context())
				before := rnd.IntN(10) == 0
				switch {
				case before:
					cancel()
				case rnd.IntN(4) == 0:
					time.AfterFunc(time.Duration(rnd.IntN(400))*time.Microsecond, cancel)
				}
				err := addTo(ctx, c.db, n, row)
				cancel()
				mu.Lock()
				switch {
				case err == nil:
					acknowledged[row] += n
				case before || errors.Is(err, fake.ErrRefused) || errors.Is(err, fake.ErrConflict) || errors.Is(err, fake.ErrTimeout):
				case errors.Is(err, errBusy):
					t.Error(err)
				default:
					unknown[row] += n
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.idle(seed)
	for row := range int64(len(unknown)) {
		if n := server.rows[row]; n < acknowledged[row] || n > acknowledged[row]+unknown[row] {
			t.Errorf("seed %d, row %d: %d counted, %d acknowledged, %d of unknown end", seed, row, n, acknowledged[row], unknown[row])
		}
	}
	if placed := c.shared.placement.Held(); placed != 0 {
		t.Errorf("seed %d: slots of %d rows are taken after the end", seed, placed)
	}
}
