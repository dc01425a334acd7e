package session

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// The slot table of an UNLOGGED table is UNLOGGED, so that a crash empties both. Where it is not, check says what to do.
func TestUnloggedSlots(t *testing.T) {
	for name, options := range map[string]string{"foreign key": "", "none": ", foreign_keys: false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 4, placement: connection" + options + "}}\n"
			p := twin.New(t, twin.Options{
				Dialect: "postgres",
				Schema:  []string{"CREATE UNLOGGED TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 5)"},
				Config:  config,
			})
			for range 2 {
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				p.Same(t, twin.Statement{SQL: "SELECT views FROM posts"})
			}
			kind := "SELECT relpersistence::text FROM pg_class WHERE oid = 'posts_slots'::regclass"
			if got := twin.Rows(t, p.Wrapped, kind); !strings.Contains(got, "u") {
				t.Errorf("the slot table is %s", got)
			}
			execAll(t, p.Wrapped, "ALTER TABLE posts SET LOGGED")
			if p.Same(t, twin.Statement{SQL: "SELECT views FROM posts"}); t.Failed() {
				return
			}
			if err := anotherProgram(t, p, config).PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), `run ALTER TABLE "posts_slots" SET LOGGED`) {
				t.Errorf("a program that begins: %v", err)
			}
		})
	}
}

// After a crash the server has emptied the table and its slot table, and the totals of what comes then are plain's.
func TestUnloggedAfterCrash(t *testing.T) {
	t.Parallel()
	twin.Serves(t, "postgres")
	in, err := server.StartSurviving("postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Stop)
	config := "version: 1\nauto_migrate: true\ntables:\n" +
		"  posts: {counters: {views: {}}, slots: 4, placement: connection}\n" +
		"  pages: {counters: {views: {}}, slots: 4, placement: connection, foreign_keys: false}\n" +
		"  clicks: {key: [], counters: {views: {}}, slots: 4, placement: connection}\n"
	p := &twin.Pair{Dialect: "postgres", ConfigPath: filepath.Join(t.TempDir(), "slotsql.yaml")}
	if err := os.WriteFile(p.ConfigPath, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(opener twin.Opener, dsn string) *sql.DB {
		db, err := opener(twin.Plain["postgres"], dsn, p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	execAll(t, open(twin.OpenPlain, in.DSN), "CREATE DATABASE one", "CREATE DATABASE two")
	p.PlainDSN, p.WrappedDSN = strings.Replace(in.DSN, "/postgres?", "/one?", 1), strings.Replace(in.DSN, "/postgres?", "/two?", 1)
	p.Plain, p.Under = open(twin.OpenPlain, p.PlainDSN), open(twin.OpenPlain, p.WrappedDSN)
	names := []string{"posts", "pages", "clicks"}
	for _, db := range []*sql.DB{p.Plain, p.Under} {
		for _, table := range names {
			execAll(t, db, "CREATE UNLOGGED TABLE "+table+" (id INT PRIMARY KEY, views INT NOT NULL)")
		}
	}
	p.Wrapped = open(twin.OpenWrapped, p.WrappedDSN)
	count := func() {
		t.Helper()
		for _, table := range names {
			p.Same(t, twin.Statement{SQL: "SELECT views FROM " + table})
			p.Same(t, twin.Statement{SQL: "INSERT INTO " + table + " VALUES (1, 5)"})
			for range 2 {
				p.Same(t, twin.Statement{SQL: "UPDATE " + table + " SET views = views + 1 WHERE id = 1"})
			}
			p.Same(t, twin.Statement{SQL: "SELECT views FROM " + table})
			if got := twin.Rows(t, p.Under, "SELECT SUM(views) FROM "+table+"_slots"); got != "2" {
				t.Errorf("%s: %s counted in slots", table, got)
			}
		}
	}
	count()
	for _, db := range []*sql.DB{p.Plain, p.Wrapped, p.Under} {
		db.SetMaxIdleConns(0) // which connections notice the crash is not the test's subject
	}
	if err := errors.Join(in.Kill(), in.Ready()); err != nil {
		t.Fatal(err)
	}
	for _, table := range names {
		if got := twin.Rows(t, p.Under, "SELECT (SELECT COUNT(*) FROM "+table+"), (SELECT COUNT(*) FROM "+table+"_slots)"); got != "0 0" {
			t.Errorf("%s has rows and slots: %s", table, got)
		}
	}
	count()
}

// PostgreSQL refuses to update a published table without a replica identity. Nothing is counted in slots that could not be folded.
func TestPublishedWithoutIdentity(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{
		Dialect: "postgres",
		Schema: []string{
			"CREATE TABLE posts (id INT NOT NULL UNIQUE, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 5)",
			"CREATE TABLE drafts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO drafts VALUES (1, 5)",
			"CREATE PUBLICATION slotsql_published FOR TABLE posts, drafts",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: connection}\n" +
			"tables: {posts: {key: [id], counters: {views: {}}}, drafts: {counters: {views: {}}}}\n",
	})
	for _, table := range []string{"posts", "drafts"} {
		p.Same(t, twin.Statement{SQL: "UPDATE " + table + " SET views = views + 1 WHERE id = 1"})
		p.Same(t, twin.Statement{SQL: "INSERT INTO " + table + " VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET views = " + table + ".views + 1"})
		p.Same(t, twin.Statement{SQL: "SELECT views FROM " + table})
	}
	if got := twin.Rows(t, p.Wrapped, "SELECT COUNT(*) FROM posts_slots"); !strings.Contains(got, "0") {
		t.Errorf("%s slots", got)
	}
}
