package session

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// What a READ ONLY transaction reads through a view while others count without a pause
// is between what has been counted before the read and what has been begun after it,
// and at REPEATABLE READ does not change; or it is refused while increments are in slots.
func TestReadOnlyBesideCounting(t *testing.T) {
	for name, level := range map[string]sql.IsolationLevel{"committed": sql.LevelReadCommitted, "repeatable": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{Dialect: "postgres", Schema: readOnlySchema("postgres"),
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, placement: adaptive, coalesce: false, counters: {views: {}}}}"})
			twin.ExecAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
			var begun, done atomic.Int64
			begun.Store(1)
			done.Store(1)
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for ctx.Err() == nil {
						begun.Add(1)
						if _, err := p.Wrapped.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
							t.Error(err)
							return
						}
						done.Add(1)
					}
				}()
			}
			defer wg.Wait()
			defer stop()
			read := func(tx *sql.Tx) {
				before := int64(-1)
				for range 3 {
					least := done.Load()
					if before >= 0 && level != sql.LevelReadCommitted {
						least = before
					}
					var got int64
					if err := tx.QueryRow("SELECT views FROM ranked WHERE id = 1").Scan(&got); err != nil {
						if twin.Class(err) != "PostgreSQL 25006" {
							t.Errorf("%v, want 25006", err)
						}
						return
					}
					got -= 10
					if got < least || got > begun.Load() || before >= 0 && level != sql.LevelReadCommitted && got != before {
						t.Errorf("read %d, %d before; at least %d, at most %d", got, before, least, begun.Load())
					}
					before = got
				}
			}
			for range 30 {
				tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: level, ReadOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				read(tx)
				_ = tx.Rollback()
			}
		})
	}
}
