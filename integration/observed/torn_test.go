// Package observed attacks what reads observe: a query that finds no slots takes base values for totals, so both have to be of
// one state of the database.
package observed

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/slots"
)

// Every read of the package asks for slots, whatever the one before has found.
func init() { slots.AskAgain = 0 }

// rowsOf and each are how many rows the table has, and the total of each.
const rowsOf, each = 6, 100

// shapes are queries whose answer is the same whenever each row's total is what it is.
var shapes = map[string]string{
	"SELECT views FROM posts WHERE id = 3":                                                           "100",
	"SELECT SUM(views) FROM posts":                                                                   "600",
	"SELECT COUNT(*) FROM posts WHERE views >= 100":                                                  "6",
	"SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 2":                                    "1 100, 2 100",
	"SELECT COUNT(*) FROM posts WHERE views <> 100":                                                  "0",
	"SELECT id FROM posts WHERE views > 100 ORDER BY id":                                             "",
	"SELECT COUNT(*) FROM posts a JOIN posts b ON b.views = a.views WHERE a.id = 2":                  "6",
	"WITH h AS (SELECT views FROM posts WHERE views < 101) SELECT COUNT(*), MAX(views) FROM h":       "6 100",
	"SELECT MIN(views) FROM posts UNION ALL SELECT MAX(views) FROM posts":                            "100, 100",
	"SELECT n FROM (SELECT id % 2 AS m, SUM(views) AS n FROM posts GROUP BY id % 2) AS g ORDER BY m": "300, 300",
}

func pair(t *testing.T, dialect string) (*twin.Pair, *sql.DB) {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: dialect,
		Params:  map[string]string{"mysql": "multiStatements=true", "postgres": "default_query_exec_mode=simple_protocol"}[dialect],
		Schema: []string{
			"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)",
			"INSERT INTO posts VALUES (1, 100), (2, 100), (3, 100), (4, 100), (5, 100), (6, 100)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\ntables: {posts: {counters: {views: {}}}}\n" +
			"rollup: {interval: 1h}\n", // nothing else may fold what is moved
	})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	return p, plain
}

// move moves counts between base rows and slots, as increments and folds do, until the context ends. Half of the time there are no slots.
func move(ctx context.Context, t *testing.T, db *sql.DB, dialect string) (moves int) {
	for ctx.Err() == nil {
		id, n := rand.IntN(rowsOf)+1, rand.IntN(50)+1
		steps := []string{
			fmt.Sprintf("UPDATE posts SET views = views - %d WHERE id = %d", n, id),
			fmt.Sprintf("INSERT INTO posts_slots (id, slot, views) VALUES (%d, 0, %d)", id, n),
		}
		back := []string{
			fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = %d", n, id),
			fmt.Sprintf("DELETE FROM posts_slots WHERE id = %d", id),
		}
		for _, list := range [][]string{steps, back} {
			if err := inTx(ctx, db, list, dialect); err != nil && ctx.Err() == nil {
				t.Errorf("moving: %v", err)
				return moves
			}
		}
		moves++
	}
	return moves
}

// inTx runs statements in a transaction that is committed whole, whatever becomes of the context.
func inTx(ctx context.Context, db *sql.DB, list []string, dialect string) error {
	ctx = context.WithoutCancel(ctx)
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, s := range list {
			if _, err = tx.ExecContext(ctx, s); err != nil {
				break
			}
		}
		if err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback()
		}
		if err == nil || !(dialect == "sqlite" && strings.Contains(err.Error(), "locked")) {
			return err
		}
	}
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func answer(ctx context.Context, db querier, query string) (string, error) {
	all, err := answers(ctx, db, query)
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// answers returns each result of a call.
func answers(ctx context.Context, db querier, query string) (sets []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		set, err := readSet(rows)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, rows.Err()
}

func readSet(rows *sql.Rows) (string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var all []string
	for rows.Next() {
		values, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		all = append(all, strings.Join(values, " "))
	}
	return strings.Join(all, ", "), rows.Err()
}

// readers run queries beside a writer, each so many times, and return how many answers were wrong.
func readers(
	t *testing.T, plain *sql.DB, dialect string, many int, read func(ctx context.Context, query string) (string, error),
) (wrong int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var moving, reading sync.WaitGroup
	moving.Go(func() { move(ctx, t, plain, dialect) })
	var torn atomic.Int64
	for range 3 {
		reading.Go(func() {
			for range many {
				for query, want := range shapes {
					got, err := read(t.Context(), query)
					if err != nil {
						t.Errorf("%s: %v", query, err)
						return
					}
					if got != want {
						torn.Add(1)
						if wrong := torn.Load(); wrong == 1 {
							t.Logf("%s: %s, want %s", query, got, want)
						}
					}
				}
			}
		})
	}
	reading.Wait()
	stop()
	moving.Wait()
	return torn.Load()
}

// What a query observes is of the state that it reads: no total is torn, on any engine and at any level, while counts move between base
// rows and slots.
func TestNotTorn(t *testing.T) {
	levels := map[string][]sql.IsolationLevel{
		"mysql":    {sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead},
		"postgres": {sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead},
		"sqlite":   {sql.LevelDefault},
	}
	twin.Each(t, func(t *testing.T, dialect string) {
		p, plain := pair(t, dialect)
		for _, level := range levels[dialect] {
			read := func(ctx context.Context, query string) (string, error) { return answer(ctx, p.Wrapped, query) }
			if level != sql.LevelDefault {
				read = func(ctx context.Context, query string) (string, error) {
					tx, err := p.Wrapped.BeginTx(ctx, &sql.TxOptions{Isolation: level})
					if err != nil {
						return "", err
					}
					defer func() { _ = tx.Rollback() }()
					return answer(ctx, tx, query)
				}
			}
			before := observedReads()
			if wrong := readers(t, plain, dialect, 25, read); wrong > 0 {
				t.Errorf("%v: %d answers are of no state of the database", level, wrong)
			}
			if n := observedReads() - before; n < 50 {
				t.Errorf("%v: only %d reads were observed", level, n)
			}
		}
	})
}

func observedReads() (n uint64) {
	for _, s := range session.Stats() {
		n += s.Observed
	}
	return n
}

// The same of each query of a call of several, whichever of them the application comes to when there are slots. SQLite's driver returns the
// rows of the last one, pgx those of the first.
func TestSeveralNotTorn(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p, plain := pair(t, dialect)
		read := func(ctx context.Context, query string) (string, error) {
			list := []string{query}
			for other := range shapes {
				if list = append(list, other); len(list) == 3 {
					break
				}
			}
			all, err := answers(ctx, p.Wrapped, strings.Join(list, "; "))
			first := shapes[query]
			switch dialect {
			case "postgres":
				list = list[:1]
			case "sqlite":
				list = list[2:]
			}
			for i, got := range all {
				if i >= len(list) || got != shapes[list[i]] {
					return fmt.Sprintf("%q of %q", all, list), err
				}
			}
			return first, err
		}
		before := observedReads()
		if wrong := readers(t, plain, dialect, 25, read); wrong > 0 {
			t.Errorf("%d answers are of no state of the database", wrong)
		}
		if n := observedReads() - before; n < 50 {
			t.Errorf("only %d reads were observed", n)
		}
	})
}

// The attack is one that finds torn totals: where the question is another statement, before the query or behind it,
// answers are wrong.
func TestTornByTwoStatements(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		_, plain := pair(t, dialect)
		none := func(ctx context.Context) (bool, error) {
			n, err := answer(ctx, plain, "SELECT COUNT(*) FROM posts_slots")
			return n == "0", err
		}
		for name, first := range map[string]bool{"an older question": true, "a newer question": false} {
			wrong := int64(0)
			for tries := 0; wrong == 0 && tries < 20; tries++ {
				wrong = readers(t, plain, dialect, 10, func(ctx context.Context, query string) (string, error) {
					before, err := none(ctx)
					if err != nil {
						return "", err
					}
					got, err := answer(ctx, plain, query)
					if err != nil {
						return "", err
					}
					asleep := before
					if !first {
						if asleep, err = none(ctx); err != nil {
							return "", err
						}
					}
					if !asleep {
						return shapes[query], nil // the exact way is taken
					}
					return got, nil
				})
			}
			if wrong == 0 {
				t.Errorf("%s: no answer was wrong", name)
			}
		}
	})
}
