package session

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

const heldConfig = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8, placement: adaptive}}\n"

// A transaction that has counted on the base row reads the row with what the slots of another process
// hold: those that are committed, and those that it has to wait for. From then on no other counts in the row.
func TestHeldRowIsRead(t *testing.T) {
	const update, read = "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT views FROM posts WHERE id = 1"
	const change = "UPDATE posts SET title = 'two' WHERE id = 1"
	upsert := map[string]string{
		"mysql":    "INSERT INTO posts (id, views, title) VALUES (1, 1, 'one') ON DUPLICATE KEY UPDATE views = views + 1",
		"postgres": "INSERT INTO posts (id, views, title) VALUES (1, 1, 'one') ON CONFLICT (id) DO UPDATE SET views = posts.views + 1",
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, c := range []struct {
			name          string
			level         sql.IsolationLevel
			first         string // what the transaction runs before
			add           string
			between, then string // what it runs after
		}{
			{name: "default", add: update},
			{name: "read committed", level: sql.LevelReadCommitted, add: update},
			{name: "upsert", add: upsert[dialect]},
			{name: "after an INSERT", add: update, between: "INSERT INTO log VALUES (7, '')", then: "DELETE FROM log"},
			{name: "after an old snapshot", first: "SELECT COUNT(*) FROM log", add: update},
			{name: "upsert after an old snapshot", first: "SELECT COUNT(*) FROM log", add: upsert[dialect]},
			{name: "change", add: change},
			{name: "change after an old snapshot", first: "SELECT COUNT(*) FROM log", add: change},
		} {
			t.Run(c.name, func(t *testing.T) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: heldConfig})
				other := otherProcess(t, p)
				before := count(t, p.Wrapped, read)
				for round := range 3 {
					if round > 0 {
						execAll(t, other, update) // in a slot, which no transaction holds
						before++
					}
					counting, err := other.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: c.level})
					if err != nil {
						t.Fatal(err)
					}
					if c.first != "" {
						var n int
						if err := tx.QueryRowContext(t.Context(), c.first).Scan(&n); err != nil {
							t.Fatal(err)
						}
					}
					if round > 1 {
						if _, err := counting.ExecContext(t.Context(), update); err != nil {
							t.Fatal(err)
						}
						before++
					}
					changed := make(chan error, 1)
					var views int
					go func() {
						_, err := tx.ExecContext(t.Context(), c.add)
						for _, q := range []string{c.between, c.then} {
							if err == nil && q != "" {
								_, err = tx.ExecContext(t.Context(), q)
							}
						}
						if err == nil {
							err = tx.QueryRowContext(t.Context(), read).Scan(&views)
						}
						changed <- err
					}()
					if round > 1 {
						untilBlocked(t, p, changed)
					}
					if err := counting.Commit(); err != nil {
						t.Fatal(err)
					}
					if err := <-changed; err != nil {
						t.Fatal(err)
					}
					if c.add != change {
						before++
					}
					if views != before {
						t.Errorf("round %d: %d views, want %d", round, views, before)
					}
					added := make(chan error, 1)
					go func() { _, err := other.ExecContext(t.Context(), update); added <- err }()
					untilBlocked(t, p, added) // the row is the transaction's
					if err := tx.QueryRowContext(t.Context(), read).Scan(&views); err != nil || views != before {
						t.Errorf("round %d: then %d views, %v", round, views, err)
					}
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
					if err := <-added; err != nil {
						t.Fatal(err)
					}
					before++
				}
				if n := count(t, p.Wrapped, read); n != before {
					t.Errorf("at the end %d views, want %d", n, before)
				}
			})
		}
	})
}

// Transactions that count in one row and read it then get each a number of its own, and none is a deadlock victim, as
// with the plain driver: not even the first ones of a process, which does not know yet that they read.
func TestCountThenRead(t *testing.T) {
	const clients, each, rounds = 32, 2, 12
	adds := map[string][]string{
		"mysql": {
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"INSERT INTO posts (id, views, title) VALUES (1, 1, 'one') ON DUPLICATE KEY UPDATE views = views + 1",
		},
		"postgres": {
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"INSERT INTO posts (id, views, title) VALUES (1, 1, 'one') ON CONFLICT (id) DO UPDATE SET views = posts.views + 1",
		},
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: heldConfig})
		config, err := slotsql.Parse([]byte(heldConfig), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for round := range rounds {
			add := adds[dialect][round%2]
			db := sql.OpenDB(twin.ConnectorWith(t, p, config)) // a process that knows nothing yet
			db.SetMaxIdleConns(clients)
			numbers := make(chan int, clients*each)
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for range each {
						n, err := countThenRead(t.Context(), db, add)
						if err != nil {
							t.Errorf("round %d: %v", round, err)
							return
						}
						numbers <- n
					}
				})
			}
			wg.Wait()
			close(numbers)
			for n := range numbers {
				if seen[n] {
					t.Errorf("round %d: two have read %d", round, n)
				}
				seen[n] = true
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := count(t, p.Wrapped, "SELECT views FROM posts WHERE id = 1"); n != 10+len(seen) {
			t.Errorf("%d views, want %d", n, 10+len(seen))
		}
	})
}

// countThenRead counts in a transaction, and reads what it has counted to.
func countThenRead(ctx context.Context, db *sql.DB, add string) (n int, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	if _, err := tx.ExecContext(ctx, add); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

// On MySQL an UPDATE locks a row that it leaves as it is, and may count it or not. What its transaction reads of the row
// then stays, and a total that it reads in an older snapshot has nothing in it twice, or not at all.
func TestUnchangedRow(t *testing.T) {
	const update, read = "UPDATE posts SET views = views + 1 WHERE id = 1", "SELECT views FROM posts WHERE id = 1"
	for name, change := range map[string]string{
		"update": "UPDATE posts SET title = 'one' WHERE id = 1",
		"upsert": "INSERT INTO posts (id, views, title) VALUES (1, 0, 'one') ON DUPLICATE KEY UPDATE title = 'one'",
		"guard":  "UPDATE posts SET title = 'two' WHERE id = 1 AND title = 'three'",
		"count":  "UPDATE posts SET views = views + 5 WHERE id = 1 AND title = 'three'",
	} {
		for i := range 4 {
			params, snapshot := []string{"", "clientFoundRows=true"}[i%2], i > 1
			t.Run(fmt.Sprintf("%s %s snapshot %t", name, params, snapshot), func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"), Config: heldConfig, Params: params})
				execAll(t, p.Plain, "UPDATE posts SET title = 'one' WHERE id = 1")
				other := otherProcess(t, p)
				before := count(t, p.Wrapped, read)
				for round := range 3 {
					execAll(t, other, update)
					before++
					tx, err := p.Wrapped.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					var n, views int
					if snapshot {
						if err := tx.QueryRow("SELECT COUNT(*) FROM log").Scan(&n); err != nil {
							t.Fatal(err)
						}
						if round > 0 { // the slots that the snapshot shows go
							execAll(t, other, "UPDATE posts SET views = views * 1 WHERE id = 1")
						}
					}
					if _, err := tx.Exec(change); err != nil {
						t.Fatal(err)
					}
					if err := tx.QueryRow(read).Scan(&views); err != nil || views != before {
						t.Errorf("round %d: %d views, want %d: %v", round, views, before, err)
					}
					added := make(chan error, 1)
					go func() { _, err := other.Exec(update); added <- err }()
					untilBlocked(t, p, added)
					if _, err := tx.Exec("UPDATE posts SET views = ? WHERE id = 1", views+10); err != nil {
						t.Fatal(err)
					}
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
					if err := <-added; err != nil {
						t.Fatal(err)
					}
					if before += 11; before != count(t, p.Wrapped, read) {
						t.Fatalf("round %d: at the end %d views, want %d", round, count(t, p.Wrapped, read), before)
					}
				}
			})
		}
	}
}

// A transaction reads the rows that it has counted, one after another, by statements that differ in their literals
// only, and so share plans.
func TestHeldRowsAreRead(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: heldConfig})
		for round := range 4 {
			on, end := p.Inside(t)
			list := []string{"SELECT COUNT(*) FROM log"}
			for id := range 3 {
				list = append(list, fmt.Sprintf("UPDATE posts SET views = views + %d WHERE id = %d", round+2, id+1),
					fmt.Sprintf("SELECT views FROM posts WHERE id = %d", id+1))
			}
			for _, q := range list {
				plain, wrapped := on.Run(t.Context(), twin.Statement{SQL: q})
				for _, d := range twin.Compare(plain, wrapped) {
					t.Errorf("%s: %s", q, d)
				}
			}
			for _, d := range end(round%2 == 0) {
				t.Error(d)
			}
		}
	})
}

// otherProcess counts in slots.
func otherProcess(t *testing.T, p *twin.Pair) *sql.DB {
	t.Helper()
	config, err := slotsql.Parse([]byte(strings.Replace(heldConfig, "adaptive", "connection", 1)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(twin.ConnectorWith(t, p, config))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A transaction that is held to its snapshot, by whatever statement: what others have counted since is
// no part of what it reads after it has counted itself.
func TestHeldRowAtSnapshot(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: heldConfig, Params: unprepared["postgres"]})
	other := otherProcess(t, p)
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	const read = "SELECT views FROM posts WHERE id = 1"
	p.Same(t, twin.Statement{SQL: "INSERT INTO log VALUES (1, 'x')"})
	for _, begin := range [][]string{
		{"BEGIN", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1", "COMMIT AND CHAIN"},
	} {
		for _, level := range []bool{true, false} { // whether the connector knows the level of others
			if level {
				warm, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, q := range []string{add, read} {
					if err := twin.Run(t.Context(), warm, twin.Statement{SQL: q}).Err; err != nil {
						t.Fatal(err)
					}
				}
				if err := warm.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
			s := pinned(t, p)
			for _, q := range append(begin, "SELECT 1 FROM log") {
				s.same(t, twin.Statement{SQL: q})
			}
			execAll(t, p.Plain, add)
			execAll(t, other, add)
			var errs [2]error
			for i, on := range []twin.Session{s.plain, s.wrapped} {
				for _, q := range []string{add, read} {
					if errs[i] == nil {
						errs[i] = twin.Run(t.Context(), on, twin.Statement{SQL: q}).Err
					}
				}
			}
			if twin.Class(errs[0]) != twin.Class(errs[1]) || errs[0] == nil {
				t.Errorf("%q: plain %v, wrapped %v", begin, errs[0], errs[1])
			}
			s.same(t, twin.Statement{SQL: "ROLLBACK"})
			s.same(t, twin.Statement{SQL: read})
		}
	}
}

// A row whose lock is given up with a savepoint, of which another has nearly the same name.
func TestHeldRowGivenUp(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{Dialect: "postgres", Schema: schema("postgres"), Config: heldConfig, Params: unprepared["postgres"]})
	other := otherProcess(t, p)
	const add = "UPDATE posts SET views = views + 1 WHERE id = 1"
	s := pinned(t, p)
	for _, q := range []string{"BEGIN", `SAVEPOINT "A"`, add, "SELECT views FROM posts WHERE id = 1", "SAVEPOINT a", `ROLLBACK TO "A"`} {
		s.same(t, twin.Statement{SQL: q})
	}
	execAll(t, p.Plain, add)
	execAll(t, other, add)
	for _, q := range []string{"UPDATE posts SET views = 5 WHERE id = 1", "COMMIT", "SELECT * FROM posts ORDER BY id"} {
		s.same(t, twin.Statement{SQL: q})
	}
}
