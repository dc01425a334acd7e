package session

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// withSlots opens the database of a pair as a process that is configured with
// another number of slots.
func withSlots(t *testing.T, p *twin.Pair, n int) *sql.DB {
	t.Helper()
	config, err := slotsql.Parse(
		fmt.Appendf(nil, "version: 1\ntables: {posts: {counters: {views: {}}, slots: %d, placement: random}}\n", n),
		"slotsql.yaml",
	)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(twin.ConnectorWith(t, p, config))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// At PostgreSQL's higher levels a drain notices what others have counted since the
// transaction's snapshot, in whichever slot: also in one that only they have.
func TestNewSlotsSinceSnapshot(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		for _, drain := range []string{"UPDATE posts SET views = 5 WHERE id = 1", "UPDATE posts SET views = views * 2", "SELECT views FROM posts WHERE id = 1 FOR UPDATE"} {
			t.Run(fmt.Sprintf("%s/%s", level, drain), func(t *testing.T) {
				t.Parallel()
				p := newPair(t, "postgres", "")
				execAll(t, p.Wrapped, work[0])
				few, many := withSlots(t, p, 1), withSlots(t, p, 4096)
				for _, other := range []struct {
					sql  string
					want string
				}{
					{"UPDATE posts SET views = views + 1 WHERE id = 1", "PostgreSQL 40001"},
					{"UPDATE posts SET views = views + 1 WHERE id = 2", map[bool]string{true: "none", false: "PostgreSQL 40001"}[strings.Contains(drain, "WHERE")]},
				} {
					tx := twin.Snapshot(t, few, level, "posts")
					execAll(t, many, other.sql)
					if err := run(tx, drain); twin.Class(err) != other.want {
						t.Errorf("%s: %v (%s), want %s", other.sql, err, twin.Class(err), other.want)
					}
					_ = tx.Rollback()
				}
			})
		}
	}
}

func run(tx *sql.Tx, query string) error {
	if strings.HasPrefix(query, "SELECT") {
		return readAll(tx.Query(query))
	}
	_, err := tx.Exec(query)
	return err
}

// The other session that is asked for these never waits for the transaction that
// asks: neither when that has the slot table for itself, nor when another session that waits
// for the transaction is before it in the queue.
func TestWitnessDoesNotHang(t *testing.T) {
	t.Run("own lock", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, "postgres", "")
		execAll(t, p.Wrapped, work[0])
		tx := twin.Snapshot(t, p.Wrapped, sql.LevelRepeatableRead, "posts")
		for _, query := range []string{"TRUNCATE posts CASCADE", "INSERT INTO posts (id, title, views) VALUES (1, 'one', 3)", "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views * 2 WHERE id = 1"} {
			if _, err := tx.Exec(query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := twin.Rows(t, p.Wrapped, "SELECT views FROM posts"); got != "8" {
			t.Errorf("%s, want 8", got)
		}
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, "postgres", "")
		execAll(t, p.Wrapped, work[0])
		tx := twin.Snapshot(t, p.Wrapped, sql.LevelRepeatableRead, "posts")
		if _, err := tx.Exec(work[0]); err != nil { // has a lock on the slot table
			t.Fatal(err)
		}
		altered := make(chan error, 1)
		go func() {
			_, err := p.Under.Exec("ALTER TABLE posts_slots ADD COLUMN other INTEGER")
			altered <- err
		}()
		for twin.Rows(t, p.Under, "SELECT COUNT(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted AND relation = 'posts_slots'::regclass") == "0" {
			select {
			case err := <-altered:
				t.Fatalf("the ALTER TABLE did not wait: %v", err)
			default:
			}
		}
		if _, err := tx.Exec("UPDATE posts SET views = 5 WHERE id = 1"); twin.Class(err) != "PostgreSQL 55P03" {
			t.Errorf("%v (%s), want 55P03", err, twin.Class(err))
		}
		_ = tx.Rollback()
		if err := <-altered; err != nil {
			t.Fatal(err)
		}
	})
}

// Additions that cancel each other out are changes of the row like any others, also when their
// slot row has been deleted since, by a roll-up or by a drain: a transaction whose snapshot is older
// than they are must not change the row.
func TestSumOfZeroSinceSnapshot(t *testing.T) {
	p := newPair(t, "postgres", "")
	execAll(t, p.Wrapped, work[0])
	db := withSlots(t, p, 1)
	tidy := []struct {
		name string
		how  func(id int)
	}{
		{"left", func(int) {}},
		{"rolled up", func(int) {
			if _, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{Idle: 1}); err != nil {
				t.Fatal(err)
			}
		}},
		{"drained", func(id int) { execAll(t, db, fmt.Sprintf("SELECT views FROM posts WHERE id = %d FOR UPDATE", id)) }},
		{"drained whole", func(int) { execAll(t, db, "UPDATE posts SET views = views * 1 WHERE title = 'none'") }},
	}
	id := 100
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		for _, tidied := range tidy {
			for _, change := range []string{"SELECT views FROM posts WHERE id = %d FOR UPDATE", "UPDATE posts SET views = 5 WHERE id = %d", "UPDATE posts SET views = views + 1 WHERE id = %d", "DELETE FROM posts WHERE id = %d"} {
				id++
				execAll(t, p.Under, fmt.Sprintf("INSERT INTO posts (id, title, views) VALUES (%d, 'one', 3)", id))
				of, slots := fmt.Sprintf(" WHERE id = %d", id), fmt.Sprintf("SELECT COUNT(*) FROM posts_slots WHERE id = %d", id)
				tx := twin.Snapshot(t, db, level, "posts")
				execAll(t, db, "UPDATE posts SET views = views + 2"+of, "UPDATE posts SET views = views - 2"+of)
				if got := twin.Rows(t, p.Under, slots); got != "1" {
					t.Fatalf("%s slot rows, want 1", got)
				}
				tidied.how(id)
				if got := twin.Rows(t, p.Under, slots); (got == "1") != (tidied.name == "left") {
					t.Fatalf("%s: %s slot rows", tidied.name, got)
				}
				if err := run(tx, fmt.Sprintf(change, id)); twin.Class(err) != "PostgreSQL 40001" {
					t.Errorf("%s, %s, %s: %v (%s), want 40001", level, tidied.name, change, err, twin.Class(err))
				}
				_ = tx.Rollback()
			}
		}
	}
}

// A transaction that has deleted a row, or given it another key, and then drains all rows does not meet
// the row's slots: another session still sees them, and takes them for newer than the snapshot if a third
// transaction is older than they are.
func TestSlotsOfDeletedRowSinceSnapshot(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		for change, want := range map[string]string{
			"DELETE FROM posts WHERE id = 1":           "100",
			"DELETE FROM posts WHERE views = 11":       "100",
			"UPDATE posts SET id = 7 WHERE views = 11": "122",
		} {
			t.Run(fmt.Sprintf("%s/%s", level, change), func(t *testing.T) {
				t.Parallel()
				p := newPair(t, "postgres", "")
				older, err := p.Under.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = older.Rollback() }()
				if _, err := older.Exec("SELECT pg_current_xact_id()"); err != nil {
					t.Fatal(err)
				}
				execAll(t, p.Wrapped, work[0])
				tx := twin.Snapshot(t, withSlots(t, p, 1), level, "posts")
				for _, query := range []string{change, "UPDATE posts SET views = views * 2"} {
					if _, err := tx.Exec(query); err != nil {
						t.Fatalf("%s: %v", query, err)
					}
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				if got := twin.Rows(t, p.Wrapped, "SELECT SUM(views) FROM posts"); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
}
