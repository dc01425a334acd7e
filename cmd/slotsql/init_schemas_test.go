package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// Tables of other schemas are named with them; a view of another schema, which
// the configuration could not name, is left to the warning of check.
func TestInitSchemas(t *testing.T) {
	t.Parallel()
	dsn := server.Postgres(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL);
		CREATE SCHEMA stats; CREATE TABLE stats.posts (id INT PRIMARY KEY, "the views" BIGINT NOT NULL);
		CREATE VIEW stats.popular AS SELECT * FROM public.posts; CREATE TABLE "a.b" (id INT PRIMARY KEY, n BIGINT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	statements := "UPDATE posts SET views = views + 1 WHERE id = $1; UPDATE stats.posts SET \"the views\" = \"the views\" + 1 WHERE id = $1; UPDATE \"a.b\" SET n = n + 1 WHERE id = $1"
	output := filepath.Join(t.TempDir(), "slotsql.yaml")
	stdout, stderr, code := command(t, statements, "init", "--driver", "postgres", "--dsn", dsn, "--sql", "-", "--output", output)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "3 counters of 3 tables proposed") {
		t.Fatalf("%d %s %s", code, stderr, stdout)
	}
	r, stderr, code := checked(t, statements, "--driver", "postgres", "--dsn", dsn, "--config", output, "--sql", "-", "--fail-on", "base")
	if code != exitOK || stderr != "" || len(r.Tables) != 3 || len(r.Statements.Classes) != 1 ||
		r.Statements.Classes[0].Class != "additive" {
		text, _ := os.ReadFile(output)
		t.Errorf("%d %s %+v\n%s", code, stderr, r, text)
	}
}

// A server that remembers, but not for this user or not in this database, is
// no error.
func TestInitWithoutStatistics(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := server.Postgres(t)
		stdout, stderr, code := command(t, "", "init", "--driver", "postgres", "--dsn", dsn)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "# No statements from pg_stat_statements: ") {
			t.Errorf("%d %s %s", code, stderr, stdout)
		}
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		dsn := server.MariaDB(t)
		stdout, stderr, code := command(t, "", "init", "--driver", "mysql", "--dsn", dsn)
		if code != exitOK || stderr != "" ||
			!strings.Contains(stdout, "tatements from performance_schema.") &&
				!strings.Contains(stdout, "tatements of performance_schema.") {
			t.Errorf("%d %s %s", code, stderr, stdout)
		}
		nowhere := strings.SplitAfter(dsn, ")/")[0]
		_, stderr, code = command(t, "", "init", "--driver", "mysql", "--dsn", nowhere)
		if code != exitError || !strings.Contains(stderr, "database") {
			t.Errorf("%d %s", code, stderr)
		}
	})
}
