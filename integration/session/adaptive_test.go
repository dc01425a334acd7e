package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// adaptive makes a table whose placement is adaptive.
func adaptive(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, code INT NOT NULL UNIQUE, views BIGINT NOT NULL, likes BIGINT, title VARCHAR(20))",
			"INSERT INTO posts VALUES (1, 10, 0, 0, 'a'), (2, 20, 0, NULL, 'b'), (3, 30, 0, 0, 'c'), (4, 40, 0, 0, 'd'), (5, 50, 0, 0, 'e'), (6, 60, 0, 0, 'f')",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: adaptive}\ntables: {posts: {counters: {views: {}, likes: {}}}}\n",
	})
}

// Rows that nothing waits for are counted on the base row, in transactions and outside.
// One that transactions queue for is counted in slots, in which they do not wait.
func TestAdaptive(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := adaptive(t, dialect)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		const count = "UPDATE posts SET views = views + 1, likes = likes + 2 WHERE id = 1"
		one := func(res sql.Result, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := res.RowsAffected(); n != 1 {
				t.Fatalf("%d rows affected", n)
			}
		}
		begin := func() *sql.Tx {
			t.Helper()
			tx, err := p.Wrapped.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			return tx
		}
		commit := func(tx *sql.Tx) {
			t.Helper()
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		one(p.Wrapped.ExecContext(ctx, count))
		cold := begin()
		one(cold.ExecContext(ctx, count))
		one(cold.ExecContext(ctx, count))
		commit(cold)
		if got := value(t, p.Under, "SELECT COUNT(*) FROM posts_slots"); got != "0" {
			t.Errorf("%s slot rows of a cold row", got)
		}
		if got := value(t, p.Under, "SELECT views + likes FROM posts WHERE id = 1"); got != "9" {
			t.Errorf("the base row has %s, want 9", got)
		}

		queued := queue(t, p, count, func() bool { return value(t, p.Under, "SELECT COUNT(*) FROM posts_slots") != "0" })
		if dialect == "postgres" { // none waits, though the row may have cooled down on a slow machine
			hot, other := begin(), begin()
			one(hot.ExecContext(ctx, count))
			one(p.Wrapped.ExecContext(ctx, count))
			one(other.ExecContext(ctx, count))
			commit(other)
			commit(hot)
			queued += 3
		}
		want := strconv.Itoa(3 + queued)
		if got := value(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); got != want {
			t.Errorf("total %s, want %s", got, want)
		}
	})
}

// queue has transactions queue for a row, until there is what they are to bring about. It returns how many have counted.
func queue(t *testing.T, p *twin.Pair, count string, enough func() bool) int {
	t.Helper()
	var counted atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for !over.Load() {
				tx, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err == nil {
					_, err = tx.ExecContext(t.Context(), count)
					time.Sleep(2 * time.Millisecond)
					err = errors.Join(err, tx.Commit())
				}
				if err != nil {
					t.Error(err)
					return
				}
				counted.Add(1)
			}
		})
	}
	end := time.Now().Add(2 * time.Minute)
	for !enough() && time.Now().Before(end) {
		time.Sleep(5 * time.Millisecond)
	}
	over.Store(true)
	if wg.Wait(); time.Now().After(end) {
		t.Fatal("increments that queue do not bring it about")
	}
	return int(counted.Load())
}

// A row that nothing waits for is counted without slots whatever the statement finds it by. On
// a busy machine one may take as long as if it had waited, so one run of a few has to show it.
func TestAdaptiveByOtherKeys(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			var slots string
			for range 5 {
				if slots = slotsOfColdRows(t, dialect); slots == "0" {
					return
				}
			}
			t.Errorf("%s slot rows of cold rows", slots)
		})
	}
}

// slotsOfColdRows increments rows by several keys, and returns how many slot rows there are then.
func slotsOfColdRows(t *testing.T, dialect string) string {
	t.Helper()
	p := adaptive(t, dialect)
	for _, where := range []string{"id = 1", "id = 2 AND title = 'b'", "code = 30", "code = 40 AND title IS NOT NULL"} {
		s := twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE " + where}
		p.Same(t, s)
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(s.SQL); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(t, p.Wrapped, "SELECT SUM(views) FROM posts"); got != "8" {
		t.Errorf("the total is %s, want 8", got)
	}
	return value(t, p.Under, "SELECT COUNT(*) FROM posts_slots")
}

// What is acknowledged is counted, in whatever mixture of transactions, statements,
// roll-ups, plain clients and drains rows become hot and cold.
func TestAdaptiveMixture(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := adaptive(t, dialect)
		if err := p.Wrapped.Ping(); err != nil {
			t.Fatal(err)
		}
		worker := twin.Connector(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var mu sync.Mutex
		want := map[int]int{}
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for ctx.Err() == nil {
					id, n := 1+r.IntN(6), 1+r.IntN(5)
					added, err := adaptiveStep(t.Context(), p, r, id, n)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					want[id] += added
					mu.Unlock()
				}
			})
		}
		for ctx.Err() == nil {
			if _, err := slotsql.RollUp(t.Context(), worker, slotsql.RollUpOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		for id, n := range want {
			if got := value(t, p.Wrapped, fmt.Sprintf("SELECT views FROM posts WHERE id = %d", id)); got != fmt.Sprint(n) {
				t.Errorf("row %d: total %s, want %d", id, got, n)
			}
		}
	})
}

// adaptiveStep does one of the things that a row meets, and returns what it has added.
func adaptiveStep(ctx context.Context, p *twin.Pair, r *rand.Rand, id, n int) (int, error) {
	byCode := r.IntN(3) == 0 // a transaction that uses both keys may deadlock, plain as well: their indexes are locked apart
	count := func() string {
		row := []string{"id = %d", "id = %d AND title <> 'none'"}[r.IntN(2)]
		if byCode {
			row = "code = %d0"
		}
		return fmt.Sprintf("UPDATE posts SET views = views + %d WHERE "+row, n, id)
	}
	once := func(db interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, q string) error {
		_, err := db.ExecContext(ctx, q)
		return err
	}
	switch k := r.IntN(20); {
	case k < 8:
		return n, once(p.Wrapped, count())
	case k < 10:
		return n, once(p.Under, count())
	case k < 11:
		return 0, once(p.Wrapped, fmt.Sprintf("UPDATE posts SET views = views + 0, title = 'x' WHERE id = %d AND views >= 0", id))
	}
	tx, err := p.Wrapped.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // it is over
	if err := once(tx, count()); err != nil {
		return 0, err
	}
	added := n
	switch r.IntN(4) {
	case 0:
		return 0, nil // rolled back
	case 1:
		if err := once(tx, count()); err != nil {
			return 0, err
		}
		added += n
	}
	return added, tx.Commit()
}

// value returns what a query of one value returns.
func value(t *testing.T, db *sql.DB, query string) (v string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}
