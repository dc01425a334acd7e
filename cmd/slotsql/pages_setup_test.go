package main

import (
	"database/sql"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/status"
)

// pageServer is what pages name postgres://localhost/app: a database with the given configuration and tables, to which
// migrate has been.
func pageServer(t *testing.T, dsn, config string, setup ...string) (documented, *sql.DB) {
	t.Helper()
	d := documented{dir: t.TempDir(), replace: []string{"postgres://localhost/app", "'" + dsn + "'"}}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	execute(t, db, setup...)
	if config != "" {
		writeIn(t, d.dir, "slotsql.yaml", "version: 1\ntables:\n"+config)
		if _, errs, code := command(t, "", "migrate", "--driver", "postgres", "--dsn", dsn, "--config", filepath.Join(d.dir, "slotsql.yaml")); code != 0 {
			t.Fatal(errs)
		}
	}
	return d, db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	postsTable  = "CREATE TABLE posts (id BIGINT PRIMARY KEY, title TEXT NOT NULL DEFAULT '', views BIGINT NOT NULL DEFAULT 0)"
	postsConfig = "  posts: {counters: {views: {}}}\n"
	twelvePosts = "INSERT INTO posts (id) SELECT n FROM generate_series(1, 12) n"
)

func pageInit(t *testing.T) documented {
	dsn, remembers := server.PostgresStatistics(t)
	d, db := pageServer(t, dsn, "", postsTable, "CREATE TABLE likes (post_id BIGINT, user_id BIGINT, PRIMARY KEY (post_id, user_id))")
	if remembers {
		execute(t, db, "CREATE EXTENSION pg_stat_statements", "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = 0 WHERE id = 1")
	} else {
		d.without = "Statements of pg_stat_statements"
	}
	writeIn(t, d.dir, "schema.sql", `CREATE TABLE posts (id BIGINT PRIMARY KEY, title TEXT NOT NULL, views BIGINT NOT NULL DEFAULT 0,
  comments_count BIGINT NOT NULL DEFAULT 0, viewed_at TIMESTAMP);
CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT NOT NULL);
`)
	writeIn(t, d.dir, "app.sql", `UPDATE posts SET views = views + 1, viewed_at = NOW() WHERE id = 1;
UPDATE posts SET title = 'a', views = 5, viewed_at = '2026-01-01' WHERE id = 1;
SELECT title, views FROM posts WHERE id = 1;
SELECT name FROM users WHERE id = 1;
`)
	d.vary = true
	return d
}

func pageDDL(t *testing.T) documented {
	dir := t.TempDir()
	writeIn(t, dir, "slotsql.yaml", "version: 1\ntables:\n"+postsConfig)
	writeIn(t, dir, "schema.sql", "CREATE TABLE posts (id BIGINT PRIMARY KEY, views BIGINT NOT NULL);\n")
	return documented{dir: dir}
}

func pageRollUp(t *testing.T) documented {
	dir := pageDatabase(t, false)
	inShell(t, dir, "slotsql migrate --driver sqlite --dsn app.db")
	db, err := sql.Open("sqlite", filepath.Join(dir, "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, db, "DROP VIEW popular", "INSERT INTO posts VALUES (1, '', 5, 0), (2, '', 0, 0)", "INSERT INTO posts_slots VALUES (1, 0, 2), (1, 1, 3), (2, 0, 7)")
	d, _ := pageServer(t, server.Postgres(t), postsConfig, postsTable, twelvePosts)
	d.vary = true
	d.dir, d.replace = dir, append(d.replace, "slotsql rollup --driver postgres", "slotsql rollup --interval 10ms --driver postgres")
	d.before = func() {
		db, err := sql.Open("pgx", d.replace[1][1:len(d.replace[1])-1])
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		execute(t, db, "INSERT INTO posts_slots (id, slot, views) SELECT n, 0, 1 FROM generate_series(1, 12) n")
	}
	return d
}

func pageDrain(t *testing.T) documented {
	d, db := pageServer(t, server.Postgres(t), postsConfig, postsTable, twelvePosts)
	execute(t, db, "INSERT INTO posts_slots (id, slot, views) SELECT p, s, 1 FROM generate_series(1, 8) p, generate_series(0, 63) s")
	return d
}

func pageVerify(t *testing.T) documented {
	d, db := pageServer(t, server.Postgres(t), `  posts:
    foreign_keys: false
    counters:
      comments: {recount: "SELECT post_id AS id, COUNT(*) AS comments FROM comments GROUP BY post_id"}
      stock: {min: 0}
  hits: {counters: {n: {}}}
`, "CREATE TABLE posts (id BIGINT PRIMARY KEY, comments BIGINT NOT NULL, stock BIGINT NOT NULL)",
		"CREATE TABLE comments (post_id BIGINT)", "CREATE TABLE hits (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)")
	execute(t, db, "INSERT INTO posts VALUES (1, 2, 0), (2, 0, -6)", "INSERT INTO comments VALUES (1), (1), (1)",
		"INSERT INTO posts_slots (id, slot, comments) VALUES (77, 0, 1), (77, 1, 1)")
	return d
}

// pageStatus has a process that counts in slots, and another worker that rolls up.
func pageStatus(t *testing.T) documented {
	dsn := server.Postgres(t)
	d, db := pageServer(t, dsn, postsConfig, postsTable, twelvePosts)
	cfg, err := slotsql.Load(filepath.Join(d.dir, "slotsql.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := slotsql.OpenConnector("postgres-slotsql", dsn, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	passed := make(chan struct{}, 1)
	go func() {
		pass := func(slotsql.RollUpReport, error) { passed <- struct{}{} }
		_ = slotsql.RunRollUp(t.Context(), worker, slotsql.RollUpOptions{Interval: time.Hour, Pass: pass})
	}()
	<-passed
	execute(t, db, "INSERT INTO posts_slots (id, slot, views) SELECT n, 0, 1 FROM generate_series(1, 12) n",
		"INSERT INTO posts_slots (id, slot, views) SELECT n, 1, 0 FROM generate_series(1, 12) n")
	process, err := slotsql.Open("postgres-slotsql", dsn, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Close() })
	var most int64
	if err := process.QueryRowContext(t.Context(), "SELECT MAX(views) FROM posts").Scan(&most); err != nil {
		t.Fatal(err)
	}
	// A session that waits for a row.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec("UPDATE posts SET title = 'a' WHERE id = 7"); err != nil {
		t.Fatal(err)
	}
	block(t, db, "UPDATE posts SET title = 'b' WHERE id = 7")
	page := httptest.NewServer(status.Handler())
	t.Cleanup(page.Close)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	d.vary, d.host = true, host
	d.replace = append(d.replace, "http://localhost:8080/debug/slotsql", page.URL)
	return d
}

// block starts statements, each in a session of its own, and returns when all of them wait for locks.
func block(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		go func() { _, _ = db.ExecContext(t.Context(), q) }()
	}
	for n := 0; n < len(statements); {
		if err := db.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()").Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

func pageDoctor(t *testing.T) documented {
	d, db := pageServer(t, server.Postgres(t), "", postsTable, twelvePosts)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec("UPDATE posts SET views = views + 1 WHERE id = 7"); err != nil {
		t.Fatal(err)
	}
	block(t, db, "UPDATE posts SET views = views + 1 WHERE id = 7")
	block(t, db, "UPDATE posts SET title = 'a' WHERE id = 7", "UPDATE posts SET views = views + 1 WHERE id = 7")
	d.vary, d.replace = true, append(d.replace, "--for 10s", "--for 1s")
	return d
}
