package session

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A connection that has written a slot row before adds to it without a lock on
// the base row. It waits for a drain and for a DELETE all the same, and they for
// it; see docs/design/locks.md. That another session waits shows in a lock timeout.
func TestKnownSlotRow(t *testing.T) {
	const total = "SELECT COALESCE(SUM(views), -1) FROM posts WHERE id = 1"
	for dialect, e := range map[string]struct{ params, waited string }{
		"mysql":    {"innodb_lock_wait_timeout=0", "MySQL 1205 (HY000)"},
		"postgres": {"lock_timeout=500ms", "PostgreSQL 55P03"},
	} {
		for _, other := range []struct {
			sql         string
			after, last int64 // total when the increment comes after it; before it
			affected    int64 // by the increment after it
		}{
			{"UPDATE posts SET views = 100 WHERE id = 1", 101, 100, 1},
			{"UPDATE posts SET views = views * 2", 25, 26, 1},
			{"DELETE FROM posts WHERE id = 1", -1, -1, 0},
		} {
			t.Run(dialect+"/"+other.sql, func(t *testing.T) {
				t.Parallel()
				for _, first := range []bool{true, false} {
					p := newPair(t, dialect, e.params)
					count, err := p.Wrapped.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer count.Close()
					for range 2 { // the second time, the slot row is known
						if _, err := count.ExecContext(t.Context(), work[0]); err != nil {
							t.Fatal(err)
						}
					}
					inc := func(x interface {
						Exec(string, ...any) (sql.Result, error)
					}) (int64, error) {
						res, err := x.Exec(work[0])
						if err != nil {
							return 0, err
						}
						return res.RowsAffected()
					}
					on := onConn{t, count}
					tx, err := p.Wrapped.Begin()
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Rollback()
					want := other.after
					if first {
						if _, err := tx.Exec(other.sql); err != nil {
							t.Fatal(err)
						}
						if _, err := inc(on); twin.Class(err) != e.waited {
							t.Fatalf("the increment did not wait: %v", err)
						}
						if err := tx.Commit(); err != nil {
							t.Fatal(err)
						}
						if n, err := inc(on); n != other.affected || err != nil {
							t.Fatalf("%d rows affected, %v", n, err)
						}
					} else {
						want = other.last
						mine, err := count.BeginTx(t.Context(), nil)
						if err != nil {
							t.Fatal(err)
						}
						defer mine.Rollback()
						if n, err := inc(mine); n != 1 || err != nil {
							t.Fatalf("%d rows affected, %v", n, err)
						}
						if _, err := tx.Exec(other.sql); twin.Class(err) != e.waited {
							t.Fatalf("%s did not wait: %v", other.sql, err)
						}
						tx.Rollback()
						if err := mine.Commit(); err != nil {
							t.Fatal(err)
						}
						if _, err := p.Wrapped.Exec(other.sql); err != nil {
							t.Fatal(err)
						}
					}
					var views int64
					if err := p.Wrapped.QueryRow(total).Scan(&views); err != nil || views != want {
						t.Errorf("first %v: total %d, %v, want %d", first, views, err, want)
					}
					var slots int64
					if err := p.Under.QueryRow(
						"SELECT COUNT(*) FROM posts_slots WHERE id = 1",
					).Scan(&slots); err != nil || first && other.affected == 1 && slots != 1 ||
						!first && slots != 0 {
						t.Errorf("first %v: %d slot rows, %v", first, slots, err)
					}
				}
			})
		}
	}
}

// onConn runs statements on one connection.
type onConn struct {
	t *testing.T
	c *sql.Conn
}

func (o onConn) Exec(q string, args ...any) (sql.Result, error) {
	res, err := o.c.ExecContext(o.t.Context(), q, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return res, nil
}
