package session

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Tables of the empty key: hits has no unique key at all, and site has one that
// the configuration does not use.
const singleRowConfig = `version: 1
auto_migrate: true
tables:
  hits: {key: [], counters: {cnt: {}}}
  site: {key: [], counters: {views: {}, likes: {}}, slots: 8}
`

func singleRows(t *testing.T, dialect, params string) *twin.Pair {
	return twin.New(t, twin.Options{Dialect: dialect, Config: singleRowConfig, Params: params, Schema: []string{
		"CREATE TABLE hits (cnt BIGINT NOT NULL)",
		"INSERT INTO hits VALUES (5)",
		"CREATE TABLE site (id INT PRIMARY KEY, name VARCHAR(20), views INT NOT NULL DEFAULT 0, likes BIGINT)",
		"INSERT INTO site VALUES (3, 'a', 10, NULL)",
	}})
}

// A table of the empty key has one row, then two, then none, then one again:
// each statement does what it does to the plain table, at once and in
// transactions that end either way.
func TestSingleRow(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		upsert := "INSERT INTO site (id, name, views) VALUES (1, 'b', 1) ON CONFLICT (id) DO UPDATE SET views = site.views + 1"
		replace := "INSERT INTO site (id, name, views, likes) VALUES (1, 'c', 7, 1) ON CONFLICT (id) DO UPDATE SET likes = excluded.likes"
		if dialect == "mysql" {
			upsert = "INSERT INTO site (id, name, views) VALUES (1, 'b', 1) ON DUPLICATE KEY UPDATE views = views + 1"
		}
		if dialect != "postgres" {
			replace = "REPLACE INTO site (id, name, views, likes) VALUES (1, 'c', 7, 1)"
		}
		truncate := "TRUNCATE TABLE hits"
		if dialect == "sqlite" {
			truncate = "DELETE FROM hits"
		}
		steps := []string{
			"UPDATE hits SET cnt = cnt + 1",
			"UPDATE hits SET cnt = cnt + 1 WHERE cnt > 0",
			"UPDATE site SET views = views + 1, likes = likes + 1",
			"UPDATE site SET views = views + 2 WHERE id = 3",
			"UPDATE site SET likes = COALESCE(likes, 0) + 1",
			"UPDATE site SET likes = likes + 1",
			"INSERT INTO hits VALUES (100)",
			"UPDATE hits SET cnt = cnt + 1",
			"INSERT INTO hits SELECT cnt * 2 FROM hits",
			"UPDATE hits SET cnt = cnt - 3",
			upsert,
			"UPDATE site SET views = views + 1",
			upsert,
			"UPDATE site SET views = views + 1 WHERE id = 1",
			replace,
			"UPDATE site SET likes = likes + 1",
			"DELETE FROM site WHERE id = 3",
			"UPDATE site SET views = views + 1",
			"UPDATE site SET likes = likes + 1 WHERE id = 1",
			"UPDATE site SET id = 9",
			"UPDATE site SET views = views + 1 WHERE id = 9",
			"UPDATE site SET views = views + 1 WHERE id = 1",
			"DELETE FROM hits WHERE cnt > 50",
			"UPDATE hits SET cnt = cnt + 1",
			"DELETE FROM hits",
			"UPDATE hits SET cnt = cnt + 1",
			"INSERT INTO hits VALUES (1)",
			"UPDATE hits SET cnt = cnt + 1",
			truncate,
			"INSERT INTO hits VALUES (2)",
			"UPDATE hits SET cnt = cnt + 1",
			"UPDATE hits SET cnt = cnt * 3",
		}
		reads := []string{
			"SELECT cnt FROM hits ORDER BY cnt",
			"SELECT SUM(cnt), COUNT(*) FROM hits",
			"SELECT * FROM site ORDER BY id",
			"SELECT id FROM site WHERE views > 5 ORDER BY views DESC LIMIT 1",
		}
		for _, around := range [][2]string{{"", ""}, {"BEGIN", "COMMIT"}, {"BEGIN", "ROLLBACK"}} {
			p := singleRows(t, dialect, "")
			one, other := pinned(t, p), pinned(t, p)
			for _, s := range steps {
				if around[0] != "" && s == truncate && dialect != "sqlite" {
					continue // not in a transaction, or no rollback
				}
				statements := []string{s}
				if around[0] != "" {
					statements = []string{around[0], s, "UPDATE hits SET cnt = cnt + 1", around[1]}
				}
				for _, query := range statements {
					one.same(t, twin.Statement{SQL: query})
					for _, r := range reads {
						one.same(t, twin.Statement{SQL: r})
					}
				}
				for _, r := range reads {
					other.same(t, twin.Statement{SQL: r})
				}
				if t.Failed() {
					t.Fatalf("after %q in %q", s, around)
				}
			}
		}
	})
}

// While increments of the one row are under way, alone and in transactions of
// every level, a second row comes and goes. Each increment that has been
// acknowledged is in the first row once, and in the second if it has told of two.
func TestSingleRowRaces(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		params := map[string]string{"mysql": "innodb_lock_wait_timeout=60", "postgres": "deadlock_timeout=20ms"}[dialect]
		p := singleRows(t, dialect, params)
		db := p.Wrapped
		if err := db.Ping(); err != nil { // the first look at the table demands a single row
			t.Fatal(err)
		}
		clients, steps, rounds := 12, 40, 15
		if dialect == "sqlite" {
			clients = 4
		}
		db.SetMaxIdleConns(clients + 1)
		var first, second atomic.Int64
		levels := []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead}
		if dialect == "sqlite" {
			levels = levels[:1]
		}
		increment := func(ctx context.Context, db interface {
			ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
		}) (int64, error) {
			res, err := db.ExecContext(ctx, "UPDATE site SET views = views + 1")
			if err != nil {
				return 0, err
			}
			return res.RowsAffected()
		}
		inTx := func(level sql.IsolationLevel, f func(tx *sql.Tx) error) error {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				return err
			}
			if err := f(tx); err != nil {
				_ = tx.Rollback()
				return err
			}
			return tx.Commit()
		}
		var wg sync.WaitGroup
		for i := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rnd := rand.New(rand.NewPCG(7, uint64(i)))
				for range steps {
					var n int64
					var err error
					if rnd.IntN(3) > 0 {
						n, err = increment(t.Context(), db)
					} else {
						err = inTx(levels[rnd.IntN(len(levels))], func(tx *sql.Tx) (err error) {
							if rnd.IntN(2) == 0 { // a snapshot, older than what comes
								if _, err := tx.ExecContext(t.Context(), "SELECT COUNT(*) FROM hits"); err != nil {
									return err
								}
								time.Sleep(time.Millisecond)
							}
							n, err = increment(t.Context(), tx)
							return err
						})
					}
					switch {
					case err == nil && (n == 1 || n == 2):
						first.Add(1)
						second.Add(n - 1)
					case err == nil:
						t.Errorf("%d rows affected", n)
					case !conflict(err):
						t.Errorf("%v (%s)", err, twin.Class(err))
						return
					}
				}
			}()
		}
		// The second row has the smaller key on every other round.
		var gone, conflicts int64
		for round := range rounds {
			id := []string{"1", "9"}[round%2]
			try := func(f func() error) {
				for {
					err := f()
					if err == nil {
						return
					}
					if !conflict(err) {
						t.Fatalf("%v (%s)", err, twin.Class(err))
					}
					conflicts++
				}
			}
			try(func() error {
				return inTx(levels[round%len(levels)], func(tx *sql.Tx) error {
					_, err := tx.ExecContext(t.Context(), "INSERT INTO site (id, name, views) VALUES ("+id+", 'b', 0)")
					return err
				})
			})
			time.Sleep(time.Millisecond)
			var n int64
			try(func() error {
				return inTx(sql.LevelDefault, func(tx *sql.Tx) error {
					lock := " FOR UPDATE"
					if dialect == "sqlite" {
						lock = ""
						if _, err := tx.ExecContext(t.Context(), "UPDATE site SET name = name"); err != nil {
							return err
						}
					}
					if err := tx.QueryRowContext(t.Context(), "SELECT views FROM site WHERE id = "+id+lock).Scan(&n); err != nil {
						return err
					}
					_, err := tx.ExecContext(t.Context(), "DELETE FROM site WHERE id = "+id)
					return err
				})
			})
			gone += n
		}
		wg.Wait()
		t.Logf("%d increments, %d of them of two rows, %d conflicts of the second row's", first.Load(), second.Load(), conflicts)
		var views, count int64
		if err := db.QueryRow("SELECT views FROM site").Scan(&views); err != nil || views != 10+first.Load() {
			t.Errorf("the first row has %d, %v, want %d", views, err, 10+first.Load())
		}
		if gone != second.Load() {
			t.Errorf("second rows had %d, want %d", gone, second.Load())
		}
		if err := p.Under.QueryRow("SELECT COUNT(*) FROM site").Scan(&count); err != nil || count != 1 {
			t.Errorf("%d rows, %v", count, err)
		}
	})
}

// The hottest counter there is: increments of the one row share statements.
func TestSingleRowCoalesces(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := singleRows(t, dialect, "")
		p.Wrapped.SetMaxIdleConns(16)
		var wg sync.WaitGroup
		for range 16 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 25 {
					if err := affected(p.Wrapped.ExecContext(t.Context(), "UPDATE hits SET cnt = cnt + 1")); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		wg.Wait()
		var n int64
		if err := p.Wrapped.QueryRow("SELECT cnt FROM hits").Scan(&n); err != nil || n != 405 {
			t.Errorf("%d, %v, want 405", n, err)
		}
		if err := p.Under.QueryRow("SELECT cnt FROM hits").Scan(&n); err != nil || n != 5 {
			t.Errorf("the base row has %d, %v: not slotted", n, err)
		}
	})
}

// A table of more than one row is not what the empty key is for.
func TestSingleRowOfTwo(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := singleRows(t, dialect, "")
		execAll(t, p.Under, "INSERT INTO site VALUES (4, 'x', 0, 0)")
		err := p.Wrapped.PingContext(t.Context())
		var ce *slotsql.ConfigError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), "more than one row") || !strings.Contains(err.Error(), ":5:") {
			t.Errorf("error %v", err)
		}
		execAll(t, p.Under, "DELETE FROM site")
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Errorf("with no row: %v", err)
		}
	})
}
