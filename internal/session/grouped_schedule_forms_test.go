package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/rewrite"
)

// One upsert at most makes the row, and all others that are acknowledged count it up.
func TestUpsertSchedules(t *testing.T) {
	t.Parallel()
	const upsert = "INSERT INTO posts (id, views) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET views = posts.views + excluded.views"
	schedules(t, func(t *testing.T, seed uint64, s *stockServer, db *sql.DB) {
		var mu sync.Mutex
		var made, counted, unknown int64
		callers(seed, func(ctx context.Context, _ int, n int64) {
			res, err := db.ExecContext(ctx, upsert, 1, n)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				affected, _ := res.RowsAffected()
				if counted += n; affected == 1 {
					made++
				} else if affected != 2 {
					t.Errorf("seed %d: %d rows affected", seed, affected)
				}
			case errors.Is(err, errBusy):
				t.Error(err)
			case !notApplied(err):
				unknown += n
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if made > 1 || made == 0 && unknown == 0 || s.views < counted || s.views > counted+unknown {
			t.Errorf("seed %d: the row has %d, and %d have made it; %d acknowledged, %d of unknown end", seed, s.views, made, counted, unknown)
		}
	})
}

// drawingEngine has sessions that tell the last number they have drawn.
type drawingEngine struct{ slotlessEngine }

// Traits implements the dialect.
func (d drawingEngine) Traits() rewrite.Traits {
	t := d.slotlessEngine.Traits()
	t.InsertIDCall = "last_insert_id"
	return t
}

// SetInsertID implements dialect.InsertIDSetter.
func (drawingEngine) SetInsertID(n int64) string { return fmt.Sprint("SET LAST_INSERT_ID = ", n) }

// Numbers drawn by LAST_INSERT_ID(n + ?) are each one caller's own, ascend with time, and
// are what the session tells, whichever session has sent the statement.
func TestInsertIDSchedules(t *testing.T) {
	t.Parallel()
	schedulesOn(t, drawingEngine{slotlessEngine{fake.Probing}}, func(t *testing.T, seed uint64, s *stockServer, db *sql.DB) {
		var mu sync.Mutex
		taken := map[int64]bool{}
		var highest, drawn, unknown int64
		callers(seed, func(ctx context.Context, _ int, n int64) {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			mu.Lock()
			least := highest
			mu.Unlock()
			res, err := conn.ExecContext(ctx, "UPDATE posts SET views = LAST_INSERT_ID(views + ?) WHERE id = ?", n, 1)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				last, _ := res.LastInsertId()
				drawn += n
				highest = max(highest, last)
				if last-n < least {
					t.Errorf("seed %d: %d to %d drawn after %d", seed, last-n+1, last, least)
				}
				for i := last - n + 1; i <= last; i++ {
					if taken[i] {
						t.Errorf("seed %d: %d drawn twice", seed, i)
					}
					taken[i] = true
				}
				var told int64
				if err := conn.QueryRowContext(t.Context(), "SELECT LAST_INSERT_ID()").Scan(&told); errors.Is(err, driver.ErrBadConn) {
					return // the connection was lost before: another one has sent the statement
				} else if err != nil || told != last {
					t.Errorf("seed %d: the session tells %d, want %d: %v", seed, told, last, err)
				}
			case errors.Is(err, errBusy):
				t.Error(err)
			case !notApplied(err):
				unknown += n
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.views < drawn || s.views > drawn+unknown || highest > s.views {
			t.Errorf("seed %d: the row has %d; %d drawn up to %d, %d of unknown end", seed, s.views, drawn, highest, unknown)
		}
	})
}
