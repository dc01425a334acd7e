package propose_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/integration/twin"
)

// One wait is one wait, however many looks see it, and what is lost is the time that it lasts.
func TestDoctorCountsWaits(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		holder, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = holder.Rollback() }()
		twin.ExecAll(t, holder, "UPDATE posts SET views = views + 1 WHERE id = 7")
		var began, ended time.Time
		waiting := make(chan error, 1)
		o := doctor.Options{Explain: explain(t, p), Propose: propose.ForDoctor, For: 4 * time.Second, Every: 250 * time.Millisecond}
		var last, gap time.Duration
		o.Progress = func(over time.Duration) {
			last, gap = over, max(gap, over-last)
			switch {
			case began.IsZero():
				began = time.Now()
				go func() {
					_, err := p.Under.ExecContext(context.WithoutCancel(t.Context()), "UPDATE posts SET views = views + 2 WHERE id = 7")
					waiting <- err
				}()
			case ended.IsZero() && time.Since(began) > 2*time.Second:
				if err := errors.Join(holder.Commit(), <-waiting); err != nil {
					t.Error(err)
				}
				ended = time.Now()
			}
		}
		r, err := doctor.Look(t.Context(), p.Under, plainDialects[dialect], o)
		if err != nil || len(r.Spots) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		s, took := r.Spots[0], ended.Sub(began)
		if s.Waits != 1 || s.Most != 1 || s.Statements[0].Seen != 1 || s.Holders[0].Seen != 1 {
			t.Errorf("%d looks saw %+v", r.Looks, s)
		}
		if s.Lost < took-2*gap || s.Lost > took+2*gap {
			t.Errorf("%s are lost, and the wait took %s; looks are up to %s apart", s.Lost, took, gap)
		}
		if config, err := slotsql.Parse([]byte(r.Propose), "slotsql.yaml"); err != nil || len(config.Tables) != 1 {
			t.Errorf("%v:\n%s", err, r.Propose)
		}
		if dialect != "mysql" && strings.Contains(fmt.Sprint(r.Notes), "MySQL") {
			t.Error(r.Notes)
		}
	})
}

// A row whose version changes all the time is named once, with its key.
func TestDoctorNamesRowOnce(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		ctx, stop := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		defer clients.Wait()
		defer stop()
		work := map[string]string{"mysql": "SELECT SLEEP(0.02)", "postgres": "SELECT pg_sleep(0.02)"}[dialect]
		for range 4 {
			clients.Go(func() {
				for ctx.Err() == nil {
					if err := transaction(ctx, p.Under, "UPDATE posts SET views = views + 1 WHERE id = 7", work); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		r, err := doctor.Look(t.Context(), p.Under, plainDialects[dialect], doctor.Options{
			Explain: explain(t, p), Propose: propose.ForDoctor, For: 3 * time.Second, Every: 110 * time.Millisecond,
		})
		if err != nil || len(r.Spots) != 1 || r.Spots[0].Key["id"] != "7" || r.Spots[0].Waits < r.Looks/2 {
			t.Errorf("%v", err)
			for _, s := range r.Spots {
				t.Errorf("%+v", s)
			}
		}
	})
}

func transaction(ctx context.Context, db *sql.DB, statements ...string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range statements {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}
