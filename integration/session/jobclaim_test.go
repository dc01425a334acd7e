package session

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// claimForms take the next two jobs. Plain skips those that another worker has locked. (A DELETE of that form waits on MariaDB.)
var claimForms = map[string]map[string]string{
	"postgres": {
		"UPDATE": "UPDATE jobs SET attempts = attempts + 1, state = 'running' WHERE id IN " +
			"(SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED)",
		"RETURNING id": "UPDATE jobs SET attempts = attempts + 1, state = 'running' WHERE id IN " +
			"(SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id",
		"RETURNING *": "UPDATE jobs SET attempts = attempts + 1, state = 'running' WHERE id IN " +
			"(SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING *",
		"CTE": "WITH q AS (SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) " +
			"UPDATE jobs SET attempts = attempts + 1, state = 'running' FROM q WHERE jobs.id = q.id RETURNING jobs.*",
		"DELETE": "DELETE FROM jobs WHERE id IN " +
			"(SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED)",
		"DELETE RETURNING": "DELETE FROM jobs WHERE id IN " +
			"(SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id, attempts",
		"SELECT":         "SELECT id, attempts FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED",
		"few attempts":   "SELECT id FROM jobs WHERE state = 'ready' AND attempts < 3 ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED",
		"not understood": "SELECT id, attempts FROM jobs TABLESAMPLE SYSTEM (100) WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED",
	},
	"mysql": {
		"join": "UPDATE jobs JOIN (SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) q ON q.id = jobs.id " +
			"SET jobs.attempts = jobs.attempts + 1, jobs.state = 'running'",
		"SELECT": "SELECT id, attempts FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED",
		"id":     "SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED",
	},
}

// A worker that claims jobs does not wait for the transaction of another one, and the job's counters are plain's.
func TestClaimsSkipLocked(t *testing.T) {
	for dialect, forms := range claimForms {
		for name, claim := range forms {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := claiming(t, dialect, "adaptive")
				both := map[string]string{}
				for side, db := range map[string]*sql.DB{"plain": p.Plain, "wrapped": p.Wrapped} {
					both[side] = twoWorkers(t, db, claim)
				}
				if both["plain"] != both["wrapped"] {
					t.Errorf("plain\n%s\nwrapped\n%s", both["plain"], both["wrapped"])
				}
			})
		}
	}
}

// The same where jobs have slots: the statement is undone, and drains.
func TestClaimsOfRowsWithSlots(t *testing.T) {
	for dialect, forms := range claimForms {
		for name, claim := range forms {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := claiming(t, dialect, "connection")
				for range 3 {
					for id := 1; id < 4; id++ {
						p.Same(t, twin.Statement{SQL: fmt.Sprintf("UPDATE jobs SET attempts = attempts + 1 WHERE id = %d", id)})
					}
					p.Same(t, twin.Statement{SQL: claim})
					p.Same(t, twin.Statement{SQL: "SELECT id, state, attempts FROM jobs ORDER BY id"})
				}
			})
		}
	}
}

func claiming(t *testing.T, dialect, placement string) *twin.Pair {
	params := ""
	if dialect == "mysql" {
		params = "innodb_lock_wait_timeout=10"
	}
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Params:  params,
		Schema: []string{
			"CREATE TABLE jobs (id INT PRIMARY KEY, state VARCHAR(10) NOT NULL, attempts INT NOT NULL)",
			"INSERT INTO jobs VALUES (1, 'ready', 0), (2, 'ready', 1), (3, 'ready', 0), (4, 'ready', 2), (5, 'ready', 0), (6, 'ready', 0), (7, 'done', 1)",
		},
		Config: "version: 1\nauto_migrate: true\ntables: {jobs: {counters: {attempts: {}}, slots: 8, placement: " + placement + "}}\n",
	})
}

// twoWorkers claims jobs in two transactions, twice in each, which both go on to read them, and returns what they have seen.
func twoWorkers(t *testing.T, db *sql.DB, claim string) (seen string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var workers []*sql.Tx
	for range 2 {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		workers = append(workers, tx)
	}
	for i, query := range []string{claim, "SELECT id, state, attempts FROM jobs WHERE id < 3", claim} {
		for n, tx := range workers {
			seen += fmt.Sprintf("%d.%d %s\n", i+1, n+1, twin.Rows(t, tx, query))
		}
	}
	for n, tx := range workers {
		if err := tx.Commit(); err != nil {
			t.Fatalf("worker %d: %v", n+1, err)
		}
	}
	return seen + twin.Rows(t, db, "SELECT id, state, attempts FROM jobs ORDER BY id")
}
