package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// However a transaction ends, nothing of it is left for the next one: what that
// one sees and which errors it gets depend on its own level and its own changes.

// ways are statements that end a transaction, and begin the next one where they do.
var ways = map[string][]string{
	"postgres": {
		"COMMIT",
		"/* x */ COMMIT",
		"-- x\ncommit work;",
		"END",
		"END TRANSACTION",
		"ABORT",
		"ROLLBACK WORK",
		"/* x */ rollback transaction",
		"PREPARE TRANSACTION 'slotsql'",
		"prepare /* x */ transaction 'slotsql'",
		"COMMIT AND CHAIN",
		"commit transaction and chain",
		"ROLLBACK AND CHAIN",
		"/* x */ ABORT WORK AND CHAIN",
		"COMMIT AND NO CHAIN",
		"SELECT 1; COMMIT",
		"COMMIT; BEGIN",
		"COMMIT; SELECT 1; BEGIN; SELECT 1",
	},
	"mysql": {
		"COMMIT", "/* x */ COMMIT", "# x\ncommit work;", "ROLLBACK WORK", "/* x */ rollback", "/*! COMMIT */",
		"COMMIT AND CHAIN", "ROLLBACK WORK AND CHAIN", "COMMIT AND NO CHAIN NO RELEASE", "BEGIN", "START TRANSACTION",
		"CREATE TABLE other (id INT)", "DROP TABLE IF EXISTS other", "SET autocommit=1", "LOCK TABLES log READ", "CALL ends()",
	},
}

// sameEnd runs a statement on both sides; prepared transactions have names of their own
// in the two databases, which are on one server.
func (b both) sameEnd(t *testing.T, query string) {
	t.Helper()
	if !strings.Contains(query, "'slotsql'") {
		b.same(t, twin.Statement{SQL: query})
		return
	}
	for name, s := range map[string]twin.Session{"'slotsql plain'": b.plain, "'slotsql wrapped'": b.wrapped} {
		if _, err := s.ExecContext(t.Context(), strings.ReplaceAll(query, "'slotsql'", name)); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func endPair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	list := schema(dialect)
	if dialect == "mysql" {
		list = append(list, "CREATE PROCEDURE ends() BEGIN COMMIT; START TRANSACTION; END")
	}
	return twin.New(t, twin.Options{Dialect: dialect, Schema: list, Config: config})
}

// A transaction is held to its own snapshot, whatever the one before was held to.
func TestLevelOfTheNextTransaction(t *testing.T) {
	p := endPair(t, "postgres")
	one, other := pinned(t, p), pinned(t, p)
	for _, way := range ways["postgres"] {
		for _, first := range []string{"BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ"} {
			run := func(statements ...string) {
				for _, query := range statements {
					one.sameEnd(t, query)
				}
			}
			run(first, "SELECT views FROM posts", work[0], "SELECT views FROM posts", way)
			if strings.Contains(strings.ToLower(way), "prepare") {
				run("COMMIT PREPARED 'slotsql'")
			}
			next := "REPEATABLE READ"
			if first != "BEGIN" {
				next = "READ COMMITTED"
			}
			if strings.Contains(way, "AND CHAIN") || strings.Contains(way, "BEGIN") {
				run("SET TRANSACTION ISOLATION LEVEL " + next)
			} else {
				run("BEGIN ISOLATION LEVEL " + next)
			}
			run("SELECT views FROM posts WHERE id = 1")
			other.same(t, twin.Statement{SQL: work[0]})
			run(work[0], "ROLLBACK")
			run(totals)
			if t.Failed() {
				t.Fatalf("after %s and %s", first, way)
			}
		}
	}
}

// What a transaction has changed is not locked by a read of the next one.
func TestRowsOfTheTransactionBefore(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := endPair(t, dialect)
		one, other := pinned(t, p), pinned(t, p)
		timeout := map[string]string{"mysql": "SET innodb_lock_wait_timeout = 1", "postgres": "SET lock_timeout = '1s'"}[dialect]
		other.same(t, twin.Statement{SQL: timeout})
		for _, way := range ways[dialect] {
			for _, statements := range [][]string{
				{"BEGIN", work[0], "SELECT views FROM posts", way},
				{"BEGIN", work[0], work[2], way},
				{"BEGIN", "UPDATE posts SET title = 'x' WHERE id = 1", way},
			} {
				if strings.Contains(strings.ToLower(way), "prepare") {
					statements = append(statements, "COMMIT PREPARED 'slotsql'")
				}
				if strings.HasPrefix(way, "LOCK") {
					statements = append(statements, "UNLOCK TABLES")
				}
				if !strings.Contains(way, "AND CHAIN") && !strings.Contains(way, "BEGIN") {
					statements = append(statements, "BEGIN")
				}
				for _, query := range append(statements, "SELECT views FROM posts WHERE id = 2", "SELECT views FROM posts WHERE id = 1") {
					one.sameEnd(t, query)
				}
				other.same(t, twin.Statement{SQL: work[0]})
				other.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1, title = 'y' WHERE id = 1"})
				one.same(t, twin.Statement{SQL: "ROLLBACK"})
				one.same(t, twin.Statement{SQL: totals})
				if t.Failed() {
					t.Fatalf("after %q", statements)
				}
			}
		}
	})
}

// A temporary table begins and ends inside a transaction, which goes on: its
// rows stay its own.
func TestTemporaryTableEndsNoTransaction(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := endPair(t, dialect)
		one, other := pinned(t, p), pinned(t, p)
		timeout := map[string]string{"mysql": "SET innodb_lock_wait_timeout = 1", "postgres": "SET lock_timeout = '1s'"}[dialect]
		other.same(t, twin.Statement{SQL: timeout})
		for _, query := range []string{"BEGIN", work[0], "CREATE TEMPORARY TABLE scratch (id INT)", "SELECT views FROM posts WHERE id = 1"} {
			one.sameEnd(t, query)
		}
		other.same(t, twin.Statement{SQL: work[0]}) // waits in vain
		for _, query := range []string{"DROP TABLE scratch", "SELECT views FROM posts WHERE id = 1", "ROLLBACK", totals} {
			one.sameEnd(t, query)
		}
	})
}
