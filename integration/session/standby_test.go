package session

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// replicated is a pair on a primary, and the same databases on its hot standby.
func replicated(t *testing.T) (primary, standby *twin.Pair) {
	t.Helper()
	twin.Serves(t, "postgres")
	first, err := server.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Stop)
	admin, err := sql.Open("pgx", first.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	twin.ExecAll(t, admin, "CREATE DATABASE one", "CREATE DATABASE two")
	second, err := server.StartPostgresStandby(first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	path := filepath.Join(t.TempDir(), "slotsql.yaml")
	config := "version: 1\nauto_migrate: true\ntables: {posts: {routines: [views_of], slots: 8, placement: random, counters: {views: {}}}}"
	if err := os.WriteFile(path, []byte(golden.WithSlots(config)), 0o600); err != nil {
		t.Fatal(err)
	}
	pairs := [2]*twin.Pair{}
	for i, at := range []string{first.DSN, second.DSN} {
		p := &twin.Pair{
			Dialect:    "postgres",
			PlainDSN:   strings.Replace(at, "/postgres?", "/one?", 1),
			WrappedDSN: strings.Replace(at, "/postgres?", "/two?", 1),
			ConfigPath: path,
		}
		for _, open := range []struct {
			db      **sql.DB
			dsn     string
			wrapped bool
		}{{&p.Plain, p.PlainDSN, false}, {&p.Under, p.WrappedDSN, false}, {&p.Wrapped, p.WrappedDSN, true}} {
			opener := twin.OpenPlain
			if open.wrapped {
				opener = twin.OpenWrapped
			}
			if *open.db, err = opener(twin.Plain["postgres"], open.dsn, path); err != nil {
				t.Fatal(err)
			}
			db := *open.db
			t.Cleanup(func() { _ = db.Close() })
		}
		pairs[i] = p
	}
	return pairs[0], pairs[1]
}

// replayed waits until the standby shows what the primary has committed.
func replayed(t *testing.T, primary, standby *twin.Pair) {
	t.Helper()
	var at string
	if err := primary.Under.QueryRow("SELECT pg_current_wal_insert_lsn()::text").Scan(&at); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; {
		var there bool
		if err := standby.Under.QueryRow("SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", at).Scan(&there); err != nil {
			t.Fatal(err)
		}
		if there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the standby does not follow")
		}
	}
}

// A hot standby answers as with the plain driver, through views and functions as long
// as no increment is in a slot, and then with an error that says what to do; it
// refuses writes as plain, and follows the primary's DDL.
func TestStandby(t *testing.T) {
	primary, standby := replicated(t)
	for _, db := range []*sql.DB{primary.Plain, primary.Under} {
		twin.ExecAll(t, db, readOnlySchema("postgres")...)
	}
	countIn(t, primary)
	filled(t, primary)
	replayed(t, primary, standby)
	totals := []string{
		"SELECT id, views FROM posts ORDER BY id",
		"SELECT SUM(views) FROM posts",
		"SELECT id FROM posts ORDER BY views DESC LIMIT 1",
		"SELECT * FROM posts WHERE id = 1",
	}
	views := []string{"SELECT id, views FROM ranked ORDER BY id", "SELECT views FROM best", "SELECT views_of(1)"}
	writes := []string{
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET views = 7 WHERE id = 1",
		"DELETE FROM posts",
		"SELECT views FROM posts WHERE id = 1 FOR UPDATE",
		"CREATE TABLE other (n int)",
	}
	hows := map[string]string{
		"autocommit": "",
		"committed":  "BEGIN",
		"repeatable": "BEGIN ISOLATION LEVEL REPEATABLE READ",
		"read only":  "BEGIN READ ONLY",
	}
	each := func(check func(one both, how string)) {
		for how, begin := range hows {
			one := pinned(t, standby)
			if begin != "" {
				one.same(t, twin.Statement{SQL: begin})
			}
			for _, query := range totals {
				one.same(t, twin.Statement{SQL: query})
			}
			check(one, how)
			if begin != "" {
				one.same(t, twin.Statement{SQL: "ROLLBACK"})
			}
			if t.Failed() {
				t.Fatal(how)
			}
		}
	}
	each(func(one both, how string) {
		for _, query := range views {
			if how != "autocommit" {
				one.same(t, twin.Statement{SQL: "SAVEPOINT a"})
			}
			out := twin.Run(t.Context(), one.wrapped, twin.Statement{SQL: query})
			if out.Err == nil || !strings.Contains(out.Err.Error(), "select from the table itself") || twin.Class(out.Err) != "PostgreSQL 25006" {
				t.Errorf("%s: %v", query, out.Err)
			}
			if how != "autocommit" {
				one.same(t, twin.Statement{SQL: "ROLLBACK TO a"})
			}
		}
		one.same(t, twin.Statement{SQL: totals[0]})
	})
	primary.Same(t, twin.Statement{SQL: "SELECT id, views FROM ranked ORDER BY id"}) // folds
	replayed(t, primary, standby)
	each(func(one both, how string) {
		for _, query := range views {
			if how == "committed" || how == "read only" {
				continue // with routines: see docs/divergences.md
			}
			one.same(t, twin.Statement{SQL: query})
		}
	})
	for _, query := range writes {
		standby.Same(t, twin.Statement{SQL: query})
	}
	primary.Same(t, twin.Statement{SQL: "ALTER TABLE posts ADD COLUMN title TEXT"})
	replayed(t, primary, standby)
	for deadline := time.Now().Add(5 * time.Minute); ; { // another client's DDL is noticed within seconds
		plain, wrapped := standby.Run(t.Context(), twin.Statement{SQL: "SELECT * FROM posts WHERE id = 1"})
		differences := twin.Compare(plain, wrapped)
		if len(differences) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(differences)
		}
	}
}
