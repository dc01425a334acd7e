package session

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// Increments of many rows that share statements, beside everything that is in
// their way: drains, rows that come and go, transactions that hold rows for a
// while, callers that give up. What is acknowledged is counted, each row by
// itself, and no session meets an error that the plain driver does not have.
func TestCoalesceRows(t *testing.T) {
	for name, table := range map[string]struct{ schema, after, counters, where string }{
		"one":     {"id BIGINT PRIMARY KEY, grp INT NOT NULL DEFAULT 0", "", "{views: {}}", "id = ?"},
		"two":     {"grp SMALLINT NOT NULL, id INT NOT NULL", ", PRIMARY KEY (grp, id)", "{views: {}, likes: {}}", "grp = 7 AND id = ?"},
		"literal": {"id INT PRIMARY KEY, grp INT NOT NULL DEFAULT 0", "", "{views: {}}", "id = %d"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, dialect string) {
				m := &manyRows{T: t, where: table.where, dialect: dialect}
				m.pair = twin.New(t, twin.Options{
					Dialect: dialect,
					Config:  "version: 1\nauto_migrate: true\ntables: {posts: {counters: " + table.counters + "}}\n",
					Schema: []string{
						"CREATE TABLE posts (" + table.schema + ", views INT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0" + table.after + ")",
					},
				})
				for id := range m.rows {
					m.exec("INSERT INTO posts (grp, id) VALUES (7, ?)", id)
				}
				m.run()
			})
		})
	}
}

type manyRows struct {
	*testing.T
	pair    *twin.Pair
	dialect string
	where   string
	rows    [12]added
}

func (m *manyRows) text(q string) string {
	if m.dialect == "postgres" {
		return dollars(q)
	}
	return q
}

func (m *manyRows) exec(q string, args ...any) {
	m.Helper()
	if _, err := m.pair.Wrapped.Exec(m.text(q), args...); err != nil {
		m.Fatal(err)
	}
}

func (m *manyRows) add(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, n int64, id int) error {
	if m.where == "id = %d" {
		return affected(db.ExecContext(ctx, fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = %d", n, id)))
	}
	return affected(db.ExecContext(ctx, m.text("UPDATE posts SET views = views + ? WHERE "+m.where), n, id))
}

func (m *manyRows) run() {
	const clients, steps = 32, 100
	db := m.pair.Wrapped
	db.SetMaxIdleConns(clients)
	before := coalesced(m.dialect)
	var wg sync.WaitGroup
	for client := range uint64(clients) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(11, client))
			for range steps {
				ctx, cancel := context.WithCancel(m.Context())
				if rnd.IntN(12) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(2500))*time.Microsecond, cancel)
				}
				err := m.step(ctx, rnd)
				given := ctx.Err() != nil
				cancel()
				if err != nil && !given && !conflict(err) {
					m.Errorf("%v (%s)", err, twin.Class(err))
					return
				}
			}
		})
	}
	wg.Wait()
	for id := range m.rows {
		var n int64
		if err := db.QueryRow(m.text("SELECT views FROM posts WHERE grp >= 0 AND id = ?"), id).Scan(&n); err != nil {
			m.Fatal(err)
		}
		m.rows[id].check(m.T, fmt.Sprintf("views of %d", id), 0, n)
	}
	if coalesced(m.dialect) == before {
		m.Error("nothing has been coalesced")
	}
	var odd int
	if err := db.QueryRow(m.text("SELECT COUNT(*) FROM posts WHERE likes <> 0")).Scan(&odd); err != nil || odd != 0 {
		m.Errorf("%d rows with a counter that no statement increments, %v", odd, err)
	}
}

func (m *manyRows) step(ctx context.Context, rnd *rand.Rand) error {
	db := m.pair.Wrapped
	n, id := 1+rnd.Int64N(4), rnd.IntN(len(m.rows))
	switch rnd.IntN(30) {
	case 0: // a drain of one row
		_, err := db.ExecContext(ctx, m.text("UPDATE posts SET views = views * 1 WHERE id = ?"), id)
		return err
	case 1: // of all, seldom: who holds a row, and wants another, deadlocks with it
		if rnd.IntN(20) > 0 {
			return nil
		}
		_, err := db.ExecContext(ctx, "UPDATE posts SET views = views * 1")
		return err
	case 2: // a row that comes and goes, with the others' numbers
		id := 100 + id
		if _, err := db.ExecContext(ctx, m.text("INSERT INTO posts (grp, id, views) VALUES (7, ?, 5)"), id); err != nil {
			return nil // it is there
		}
		_ = m.add(ctx, db, n, id)
		_, err := db.ExecContext(ctx, m.text("DELETE FROM posts WHERE id = ?"), id)
		return err
	case 3: // a transaction that takes two rows, and holds them
		id = rnd.IntN(len(m.rows) - 1) // in one order, as plain ones have to
		other := id + 1 + rnd.IntN(len(m.rows)-id-1)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := m.add(ctx, tx, n, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, m.text("UPDATE posts SET views = views * 1 WHERE id = ?"), other); err != nil {
			return err
		}
		time.Sleep(time.Duration(rnd.IntN(3)) * time.Millisecond)
		err = tx.Commit()
		m.rows[id].note(n, err)
		return err
	case 4:
		var sum int64
		return db.QueryRowContext(ctx, "SELECT SUM(views) FROM posts").Scan(&sum)
	}
	err := m.add(ctx, db, n, id)
	m.rows[id].note(n, err)
	return err
}
