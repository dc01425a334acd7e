package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slotsql/slotsql/integration/twin"
)

// BenchmarkManyRows weighs what an increment of several rows by key could run
// as: the statement itself on the base rows, or an upsert of as many slot rows. The
// upsert must not be left half done, so it needs a transaction of its own, to
// take back when it has met fewer rows than the statement names. All by hand,
// through the plain driver.
func BenchmarkManyRows(b *testing.B) {
	const rows, clients = 10_000, 16
	in := func() string {
		a := rand.IntN(rows - 40)
		return fmt.Sprintf("(%d, %d, %d)", a+1, a+20, a+40)
	}
	for _, dialect := range []string{"mysql", "postgres"} {
		p := twin.New(b, twin.Options{Dialect: dialect, Open: twin.OpenPlain, Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)",
			"CREATE TABLE posts_slots (id INT NOT NULL, slot SMALLINT NOT NULL, views BIGINT NOT NULL, PRIMARY KEY (id, slot), FOREIGN KEY (id) REFERENCES posts (id) ON DELETE CASCADE)",
			"INSERT INTO posts WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT (a.i - 1) * 100 + b.i, 0 FROM n a, n b",
		}})
		if dialect == "postgres" {
			_, _ = p.Plain.Exec("VACUUM ANALYZE posts")
		}
		p.Plain.SetMaxOpenConns(clients)
		p.Plain.SetMaxIdleConns(clients)
		upsert := "INSERT INTO posts_slots (id, slot, views) SELECT posts.id, %d, 1 FROM posts FORCE INDEX (PRIMARY) WHERE id IN %s LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE views = posts_slots.views + VALUES(views)"
		if dialect == "postgres" {
			upsert = "INSERT INTO posts_slots AS s (id, slot, views) SELECT posts.id, %d, 1 FROM posts WHERE id IN %s FOR KEY SHARE ON CONFLICT (id, slot) DO UPDATE SET views = s.views + excluded.views"
		}
		text := func(c context.Context, db *sql.Conn, _ int, keys string) error {
			_, err := db.ExecContext(c, "UPDATE posts SET views = views + 1 WHERE id IN "+keys)
			return err
		}
		slots := func(c context.Context, db *sql.Conn, slot int, keys string) error {
			_, err := db.ExecContext(c, fmt.Sprintf(upsert, slot, keys))
			return err
		}
		type statement func(ctx context.Context, db *sql.Conn, slot int, keys string) error
		within := func(f statement, more string, wait time.Duration) statement {
			return func(c context.Context, db *sql.Conn, slot int, keys string) error {
				if _, err := db.ExecContext(c, "START TRANSACTION"); err != nil {
					return err
				}
				err := f(c, db, slot, keys)
				if err == nil && more != "" {
					time.Sleep(wait)
					_, err = db.ExecContext(c, more)
				}
				end := "COMMIT"
				if err != nil {
					end = "ROLLBACK"
				}
				_, eerr := db.ExecContext(c, end)
				return errors.Join(err, eerr)
			}
		}
		for _, way := range []struct {
			name string
			run  func(context.Context, *sql.Conn, int, string) error
		}{
			{"text", text}, {"slots", within(slots, "", 0)},
			{"text in a transaction", within(text, "SELECT 1", time.Millisecond)}, {"slots in a transaction", within(slots, "SELECT 1", time.Millisecond)},
		} {
			for _, keys := range []string{"(1, 20, 40)", ""} {
				name := "hot"
				if keys == "" {
					name = "spread"
				}
				b.Run(strings.Join([]string{dialect, way.name, name}, "/"), func(b *testing.B) {
					var client, deadlocks atomic.Int64
					b.SetParallelism(clients / 2)
					b.RunParallel(func(pb *testing.PB) {
						slot := int(client.Add(1))
						db, err := p.Plain.Conn(b.Context())
						if err != nil {
							b.Error(err)
							return
						}
						defer db.Close()
						for pb.Next() {
							k := keys
							if k == "" {
								k = in()
							}
							for {
								err := way.run(b.Context(), db, slot, k)
								if err == nil {
									break
								}
								if !deadlock(err) {
									b.Error(err)
									return
								}
								deadlocks.Add(1)
							}
						}
					})
					b.ReportMetric(float64(deadlocks.Load())/float64(b.N), "deadlocks/op")
				})
			}
		}
	}
}

func deadlock(err error) bool {
	var m *mysql.MySQLError
	var p *pgconn.PgError
	return errors.As(err, &m) && m.Number == 1213 || errors.As(err, &p) && p.Code == "40P01"
}
