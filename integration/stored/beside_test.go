package stored

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// counting is a client that counts: it returns how much it has added to a row's views.
type counting func(ctx context.Context, round int) (added int64, err error)

// Plain clients that call the function, in autocommit and in transactions that roll back, comments that a trigger counts through it,
// programs with groups and slots, drains and a roll-up, all at once: nothing is lost and nothing is counted twice.
func TestFunctionBesideEverything(t *testing.T) {
	each(t, func(t *testing.T, dialect, layout string) {
		p := pair(t, dialect, layout, "")
		twin.ExecAll(t, p.Under, "CREATE TABLE comments (id BIGINT PRIMARY KEY, post_id BIGINT NOT NULL, FOREIGN KEY (post_id) REFERENCES posts (id))")
		twin.ExecAll(t, p.Under, countedByTrigger[dialect]...)
		b := &beside{t: t, p: p}
		clients := []counting{
			b.calls, b.calls, b.transactions, b.transactions, b.comments, b.comments, b.wrapped, b.wrapped, b.wrappedTx, b.sets, b.missing,
		}
		var wg sync.WaitGroup
		var sum atomic.Int64
		for _, client := range clients {
			wg.Go(func() {
				for round := range 40 {
					added, err := client(t.Context(), round)
					if err != nil && !twin.Retryable(err) && !twin.Crossed(err) {
						t.Error(err)
						return
					}
					if err != nil {
						t.Logf("retry: %v", err)
					}
					if err == nil {
						sum.Add(added)
					}
				}
			})
		}
		stop := make(chan struct{})
		var passes sync.WaitGroup
		passes.Go(func() {
			c := twin.Connector(t, p)
			for stopped := false; !stopped; {
				select {
				case <-stop:
					stopped = true
				default:
				}
				if _, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
		wg.Wait()
		close(stop)
		passes.Wait()
		total := fmt.Sprint(10 + sum.Load())
		want(t, "the view", twin.Rows(t, p.Under, "SELECT views FROM posts_totals WHERE id = 1"), total)
		want(t, "through slotsql", twin.Rows(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"), total)
		want(t, "each comment is counted", twin.Rows(t, p.Under, "SELECT likes - 1 FROM posts_totals WHERE id = 1"), twin.Rows(t, p.Under, "SELECT COUNT(*) FROM comments"))
	})
}

var countedByTrigger = map[string][]string{
	"postgres": {
		"CREATE FUNCTION commented() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM posts_count(NEW.post_id, likes => 1); RETURN NULL; END $$",
		"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION commented()",
	},
	"mysql": {"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW SET @slotsql_rows = posts_count(NEW.post_id, 0, 1)"},
}

// beside is the clients of the test.
type beside struct {
	t   *testing.T
	p   *twin.Pair
	ids atomic.Int64
}

func called(ctx context.Context, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, id, views int,
) (rows int64, err error) {
	err = on.QueryRowContext(ctx, fmt.Sprintf("SELECT posts_count(%d, %d, 0)", id, views)).Scan(&rows)
	return rows, err
}

func (b *beside) calls(ctx context.Context, _ int) (int64, error) {
	rows, err := called(ctx, b.p.Under, 1, 3)
	if err == nil && rows != 1 {
		err = fmt.Errorf("%d rows", rows)
	}
	return 3, err
}

func (b *beside) missing(ctx context.Context, _ int) (int64, error) {
	rows, err := called(ctx, b.p.Under, 7, 1)
	if err == nil && rows != 0 {
		err = fmt.Errorf("%d rows of a missing row", rows)
	}
	return 0, err
}

// inTx runs f in a transaction, and rolls back each third one.
func inTx(ctx context.Context, db *sql.DB, round int, f func(tx *sql.Tx) error) (committed bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	if err := f(tx); err != nil {
		return false, errors.Join(err, tx.Rollback())
	}
	if round%3 == 0 {
		return false, tx.Rollback()
	}
	return true, tx.Commit()
}

func (b *beside) transactions(ctx context.Context, round int) (int64, error) {
	committed, err := inTx(ctx, b.p.Under, round, func(tx *sql.Tx) error {
		for range 2 {
			if _, err := called(ctx, tx, 1, -2); err != nil {
				return err
			}
		}
		var sees int64
		return tx.QueryRowContext(ctx, "SELECT views FROM posts_totals WHERE id = 1").Scan(&sees)
	})
	if !committed {
		return 0, err
	}
	return -4, err
}

func (b *beside) comments(ctx context.Context, round int) (int64, error) {
	_, err := inTx(ctx, b.p.Under, round, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO comments VALUES (%d, 1)", b.ids.Add(1)))
		return err
	})
	return 0, err
}

func (b *beside) wrapped(ctx context.Context, _ int) (int64, error) {
	_, err := b.p.Wrapped.ExecContext(ctx, twin.Placeholders(b.p.Dialect, "UPDATE posts SET views = views + ? WHERE id = 1"), 5)
	return 5, err
}

func (b *beside) wrappedTx(ctx context.Context, round int) (int64, error) {
	committed, err := inTx(ctx, b.p.Wrapped, round, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE posts SET views = views + 11 WHERE id = 1")
		return err
	})
	if !committed {
		return 0, err
	}
	return 11, err
}

// sets changes the counter by what it has read, under the lock of a drain.
func (b *beside) sets(ctx context.Context, round int) (int64, error) {
	by := rand.Int64N(100)
	committed, err := inTx(ctx, b.p.Wrapped, round, func(tx *sql.Tx) error {
		var sees int64
		if err := tx.QueryRowContext(ctx, "SELECT views FROM posts WHERE id = 1 FOR UPDATE").Scan(&sees); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, twin.Placeholders(b.p.Dialect, "UPDATE posts SET views = ? WHERE id = 1"), sees+by)
		return err
	})
	if !committed {
		return 0, err
	}
	return by, err
}
