package shared

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Clients count rows of several tables that share a slot table, one counter at a
// time and several, alone and in transactions, beside drains, deletes of another
// row and a roll-up: what is acknowledged is counted, once, where it belongs.
func TestUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		clients, steps := 10, 30
		if dialect == "sqlite" {
			clients = 4
		}
		db := p.Wrapped
		db.SetMaxIdleConns(clients)
		var views, likes [3]atomic.Int64
		var comments, hits, bytes atomic.Int64
		one := func(ctx context.Context, on twin.Execer, q string, args ...any) error {
			res, err := on.ExecContext(ctx, twin.Placeholders(dialect, q), args...)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != 1 {
				return fmt.Errorf("%d rows affected, %v: %s", n, err, q)
			}
			return nil
		}
		step := func(ctx context.Context, on twin.Execer, rnd *rand.Rand) (func(), error) {
			id, n := 1+rnd.IntN(2), int64(1+rnd.IntN(3))
			switch rnd.IntN(7) {
			case 0, 1:
				return func() { views[id].Add(n) }, one(ctx, on, "UPDATE posts SET views = views + ? WHERE id = ?", n, id)
			case 2:
				return func() { views[id].Add(n); likes[id].Add(1) }, one(
					ctx,
					on,
					"UPDATE posts SET views = views + ?, likes = COALESCE(likes, 0) + 1 WHERE id = ?",
					n,
					id,
				)
			case 3:
				return func() { views[id].Add(2); likes[id].Add(-n) }, one(
					ctx,
					on,
					"UPDATE posts SET likes = likes - ?, views = views + 2 WHERE id = ?",
					n,
					id,
				)
			case 4:
				return func() { comments.Add(n) }, one(ctx, on, "UPDATE comments SET likes = likes + ? WHERE id = 1", n)
			case 5:
				return func() { hits.Add(1); bytes.Add(n) }, one(
					ctx,
					on,
					"UPDATE pages SET hits = hits + 1, bytes = bytes + ? WHERE slug = 'home'",
					n,
				)
			}
			return func() { views[id].Add(1) }, one(ctx, on, "UPDATE posts SET views = views + 1 WHERE id = ?", id)
		}
		execAll(t, p.Under, "UPDATE posts SET likes = 0 WHERE id = 1")
		ctx, stop := context.WithCancel(t.Context())
		var rolling sync.WaitGroup
		rolling.Add(1)
		go func() {
			defer rolling.Done()
			for ctx.Err() == nil {
				if _, err := slotsql.RollUp(ctx, twin.Connector(t, p), slotsql.RollUpOptions{}); err != nil && ctx.Err() == nil &&
					!twin.Conflict(err) {
					t.Errorf("roll-up: %v", err)
				}
				time.Sleep(time.Millisecond)
			}
		}()
		var wg sync.WaitGroup
		var conflicts sync.Map
		for i := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rnd := rand.New(rand.NewPCG(3, uint64(i)))
				for range steps {
					err := func() error {
						switch rnd.IntN(10) {
						case 0, 1:
							tx, err := db.BeginTx(t.Context(), nil)
							if err != nil {
								return err
							}
							defer func() { _ = tx.Rollback() }()
							var all []func()
							for range 1 + rnd.IntN(2) {
								add, err := step(t.Context(), tx, rnd)
								if err != nil {
									return err
								}
								all = append(all, add)
							}
							if rnd.IntN(4) == 0 {
								return nil // rolled back
							}
							if err := tx.Commit(); err != nil {
								return err
							}
							for _, add := range all {
								add()
							}
							return nil
						case 2:
							id := 1 + rnd.IntN(2)
							return one(
								t.Context(),
								db,
								"UPDATE posts SET views = views * 1 + 0 * likes, title = ? WHERE id = ?",
								fmt.Sprint(rnd.IntN(1e9)),
								id,
							)
						case 3:
							id := 1000 + i
							for _, q := range []string{"INSERT INTO comments VALUES (?, 1, 0)", "UPDATE comments SET likes = likes + 1 WHERE id = ?", "DELETE FROM comments WHERE id = ?"} {
								for {
									err := one(t.Context(), db, q, id)
									if err == nil {
										break
									}
									if !twin.Conflict(err) {
										return err
									}
								}
							}
							return nil
						}
						add, err := step(t.Context(), db, rnd)
						if err == nil {
							add()
						}
						return err
					}()
					if err != nil && twin.Conflict(err) {
						n, _ := conflicts.LoadOrStore(twin.Class(err), new(atomic.Int64))
						n.(*atomic.Int64).Add(1)
					}
					if err != nil && !twin.Conflict(err) {
						t.Errorf("%v (%s)", err, twin.Class(err))
						return
					}
				}
			}()
		}
		wg.Wait()
		stop()
		rolling.Wait()
		conflicts.Range(func(class, n any) bool { t.Logf("%s: %d", class, n.(*atomic.Int64).Load()); return true })
		want := []string{
			fmt.Sprintf("1 %d %d", 20+views[1].Load(), likes[1].Load()),
			fmt.Sprintf("2 %d %d", 30+views[2].Load(), 3+likes[2].Load()),
		}
		if got := text(t, db, "SELECT id, views, likes FROM posts WHERE id > 0 ORDER BY id"); got != strings.Join(want, "\n") {
			t.Errorf("posts:\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
		if got, want := text(t, db, "SELECT likes FROM comments WHERE id = 1"), fmt.Sprint(5+comments.Load()); got != want {
			t.Errorf("comments: %s, want %s", got, want)
		}
		if got, want := text(
			t,
			db,
			"SELECT hits, bytes FROM pages WHERE id = 1",
		), fmt.Sprintf("%d %d", hits.Load(), bytes.Load()); got != want {
			t.Errorf("pages: %s, want %s", got, want)
		}
		if got := text(
			t,
			p.Under,
			"SELECT COUNT(*) FROM slotted_counters WHERE record_type = 3 AND record_id NOT IN (SELECT id FROM comments)",
		); got != "0" {
			t.Errorf("%s slot rows of deleted rows", got)
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"SELECT id, views, likes FROM posts ORDER BY id", "SELECT id, likes FROM comments ORDER BY id", "SELECT id, hits, bytes FROM pages ORDER BY id"} {
			if base, total := text(t, p.Under, q), text(t, db, q); base != total {
				t.Errorf("drained, %s:\n%s\nwant\n%s", q, base, total)
			}
		}
	})
}

// A counter whose slots have come to the end of their range leaves the others of
// the statement what they are, and what does not fit goes to the base row.
func TestEndOfRange(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		most := map[string]int64{"mysql": 14913080, "postgres": 14913080, "sqlite": 1 << 49}[dialect] // of an INT with 8 slots
		full := func(record, count int64) {
			for slot := range 8 {
				execAll(
					t,
					p.Under,
					fmt.Sprintf(
						"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (%d, 2, %d, %d)",
						record,
						slot,
						count,
					),
				)
			}
		}
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1") // makes the table
		execAll(t, p.Plain, "UPDATE posts SET views = views + 1 WHERE id = 1")
		full(1, most)
		execAll(t, p.Plain, fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = 2", 8*most))
		for range 3 {
			same(
				t,
				p.Plain,
				p.Wrapped,
				"UPDATE posts SET views = views + 3, likes = likes + 4 WHERE id = 2",
				"SELECT * FROM posts ORDER BY id",
			)
		}
		for range 2 { // drained or not, the slots come to the end again
			same(
				t,
				p.Plain,
				p.Wrapped,
				fmt.Sprintf("UPDATE posts SET likes = likes + 1, views = views - %d WHERE id = 2", most/2),
				"UPDATE posts SET views = views + 1 WHERE id = 2",
				"SELECT * FROM posts ORDER BY id",
			)
		}
		tx, plain := twin.Conn(t, p.Wrapped), twin.Conn(t, p.Plain)
		execAll(
			t,
			p.Under,
			"DELETE FROM slotted_counters WHERE record_type = 1 AND record_id = 2",
			"UPDATE posts SET views = 30 WHERE id = 2",
		)
		execAll(t, p.Plain, fmt.Sprintf("UPDATE posts SET views = %d WHERE id = 2", 30-8*most))
		full(1, -most)
		same(
			t,
			plain,
			tx,
			"BEGIN",
			"UPDATE posts SET views = views - 3, likes = likes + 4 WHERE id = 2",
			"SELECT * FROM posts ORDER BY id",
			"UPDATE posts SET views = views - 3, likes = likes + 4 WHERE id = 2",
			"COMMIT",
			"SELECT * FROM posts ORDER BY id",
		)
	})
}
