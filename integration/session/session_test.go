// Package session holds the tests of what a session remembers: transactions
// however they were begun, namespaces, temporary tables, prepared statements.
// Each runs on the plain and the wrapped driver side by side.
package session

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

var dialects = []string{"sqlite", "mysql", "postgres"}

const config = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}, slots: 8}}\n"

func schema(dialect string) []string {
	text := "VARCHAR(100)"
	if dialect == "sqlite" {
		text = "TEXT"
	}
	return []string{
		"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER, title " + text + ")",
		"INSERT INTO posts (id, views, likes, title) VALUES (1, 10, 1, 'one'), (2, 20, NULL, 'two'), (3, 30, 3, 'three')",
		"CREATE TABLE log (id INTEGER PRIMARY KEY, note " + text + ")",
	}
}

func newPair(t *testing.T, dialect, params string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: config, Params: params})
}

// each runs f once per engine.
func each(t *testing.T, f func(t *testing.T, dialect string)) {
	for _, d := range dialects {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

// both are sessions on the two sides.
type both struct{ plain, wrapped twin.Session }

func pinned(t *testing.T, p *twin.Pair) both {
	t.Helper()
	return both{twin.Conn(t, p.Plain), twin.Conn(t, p.Wrapped)}
}

func (b both) same(t *testing.T, s twin.Statement) (plain, wrapped twin.Outcome) {
	t.Helper()
	plain, wrapped = twin.Run(t.Context(), b.plain, s), twin.Run(t.Context(), b.wrapped, s)
	for _, d := range twin.Compare(plain, wrapped) {
		repeated := d.What == "RowsAffected" || d.What == "LastInsertId" && twin.IDWithRows()
		if repeated && rollback.MatchString(s.SQL) {
			continue // SQLite repeats that of the write before, which may be a fold's
		}
		t.Errorf("%s\n%s %v", d, s.SQL, s.Args)
	}
	return plain, wrapped
}

var rollback = regexp.MustCompile("^(ROLLBACK|ALTER|CREATE|DROP)")

const totals = "SELECT id, views, likes, title FROM posts ORDER BY id"

// script runs statements one after the other, reads the totals after each of
// them in the same session and, when others is given, in another one.
func (b both) script(t *testing.T, others *both, statements ...string) {
	t.Helper()
	for i, text := range statements {
		b.same(t, twin.Statement{SQL: text})
		b.same(t, twin.Statement{SQL: totals})
		if others != nil {
			others.same(t, twin.Statement{SQL: totals})
		}
		if t.Failed() {
			t.Fatalf("after statement %d of\n%s", i+1, strings.Join(statements[:i+1], "\n"))
		}
	}
}

// work is every kind of write of a counter, each with its totals after it.
var work = []string{
	"UPDATE posts SET views = views + 1 WHERE id = 1",
	"UPDATE posts SET views = views + 2, likes = likes + 1 WHERE id = 1",
	"UPDATE posts SET views = views * 2 WHERE id = 1",
	"UPDATE posts SET views = views + 3 WHERE id = 2",
	"UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = 2",
	"UPDATE posts SET views = views + 1",
	"UPDATE posts SET views = views + 5 WHERE id = 99",
	"INSERT INTO posts (id, views) VALUES (4, 1)",
	"UPDATE posts SET views = views + 4 WHERE id = 4",
	"UPDATE posts SET id = 5 WHERE id = 4",
	"UPDATE posts SET views = views + 1 WHERE id = 5",
	"DELETE FROM posts WHERE id = 3",
	"UPDATE posts SET views = views + 1 WHERE id = 3",
}

// begins are the statements that begin a transaction.
var begins = map[string][]string{
	"mysql": {
		"BEGIN",
		"begin",
		"  bEgIn work ;",
		"/* x */ START TRANSACTION",
		"-- c\nBEGIN",
		"# c\nstart transaction",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT",
		"SET autocommit=0",
		"set @@session.autocommit = off",
		"/*!40000 BEGIN */",
		"/*! SET autocommit = 0 */",
		"SET SESSION autocommit = 0, sql_safe_updates = 0",
	},
	"postgres": {
		"BEGIN",
		"begin",
		"  bEgIn work ;",
		"/* x /* y */ */ START TRANSACTION",
		"-- c\nBEGIN",
		"BEGIN ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION ISOLATION LEVEL SERIALIZABLE",
		";BEGIN",
	},
	"sqlite": {"BEGIN", "begin", "  bEgIn transaction ;", "/* x */ BEGIN IMMEDIATE", "-- c\nBEGIN", "SAVEPOINT a", "BEGIN EXCLUSIVE"},
}

// ends are the ways out, by whether they commit.
func ends(dialect, begin string) []string {
	switch {
	case strings.Contains(begin, "SAVEPOINT"):
		return []string{"RELEASE a", "ROLLBACK TO a; RELEASE a", "COMMIT", "ROLLBACK"}
	case dialect == "sqlite":
		return []string{"COMMIT", "end", "/* x */ ROLLBACK"}
	}
	return []string{"COMMIT", "/* x */ ROLLBACK", "rollback work"}
}

func TestTransactionByText(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		one, other := pinned(t, p), pinned(t, p)
		for _, begin := range begins[dialect] {
			for _, end := range ends(dialect, begin) {
				statements := append([]string{work[0], begin}, work...)
				statements = append(statements, end, work[0], work[2])
				if strings.Contains(strings.ToLower(begin), "autocommit") {
					statements = append(statements, "COMMIT", "SET autocommit=1")
				}
				statements = append(
					statements,
					"DELETE FROM posts WHERE id IN (4, 5)",
					"UPDATE posts SET views = views % 1000",
					"INSERT INTO posts (id, views, likes, title) SELECT 3, 30, 3, 'three' WHERE NOT EXISTS (SELECT 1 FROM posts p WHERE p.id = 3)",
				)
				if dialect == "mysql" {
					statements[len(statements)-1] = "INSERT IGNORE INTO posts (id, views, likes, title) VALUES (3, 30, 3, 'three')"
				}
				seen := &other
				if dialect == "sqlite" && begin == "BEGIN EXCLUSIVE" {
					seen = nil
				}
				one.script(t, seen, statements...)
			}
		}
	})
}

func TestTransactionByBeginTx(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		other := pinned(t, p)
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
				if dialect == "sqlite" && level != sql.LevelDefault {
					continue
				}
				var in both
				var txs []*sql.Tx
				for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
					tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					if err != nil {
						t.Fatal(err)
					}
					txs = append(txs, tx)
				}
				in = both{txs[0], txs[1]}
				in.script(t, &other, work...)
				for _, tx := range txs {
					if err := end(tx); err != nil {
						t.Error(err)
					}
				}
				other.same(t, twin.Statement{SQL: totals})
				other.script(t, nil, "DELETE FROM posts WHERE id IN (3, 5)", "INSERT INTO posts (id, views, likes) VALUES (3, 30, 3)")
			}
		}
	})
}

func TestSavepoints(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		one, other := pinned(t, p), pinned(t, p)
		statements := []string{"BEGIN"}
		for depth := range 3 {
			statements = append(statements, fmt.Sprintf("SAVEPOINT s%d", depth))
			statements = append(statements, work...)
		}
		statements = append(
			statements,
			"ROLLBACK TO SAVEPOINT s2",
			work[0],
			work[2],
			"ROLLBACK TO s1",
			"SAVEPOINT s3",
			work[2],
			"RELEASE SAVEPOINT s3",
			work[0],
			"RELEASE SAVEPOINT s1",
			work[2],
			"ROLLBACK TO SAVEPOINT s0",
			work[1],
			work[2],
			work[1],
			"COMMIT",
			work[0],
		)
		one.script(t, &other, statements...)
		// The errors of savepoints that are not there.
		one.script(
			t,
			&other,
			"SAVEPOINT outside",
			work[0],
			work[2],
			"ROLLBACK TO SAVEPOINT outside",
			work[0],
			"RELEASE SAVEPOINT outside",
			work[0],
		)
		if dialect != "sqlite" {
			one.script(t, &other, "BEGIN", work[0], "COMMIT AND CHAIN", work[0], work[2], "ROLLBACK AND CHAIN", work[2], "COMMIT", work[0])
		}
	})
}

// An error in a transaction leaves what the engine leaves.
func TestErrorInTransaction(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		one, other := pinned(t, p), pinned(t, p)
		for _, bad := range []string{"INSERT INTO posts (id) VALUES (1)", "UPDATE posts SET views = NULL WHERE id = 1", "UPDATE posts SET nosuch = 1",
			"SELECT views, nosuch FROM posts", "UPDATE posts SET id = 1, views = 3 WHERE id = 2"} {
			for _, end := range []string{"COMMIT", "ROLLBACK"} {
				one.script(t, &other, work[0], work[3], bad, work[0])
				one.script(t, nil, "BEGIN", work[0], work[2], work[0], bad, work[0], work[2], end, work[0])
				one.script(
					t,
					&other,
					"BEGIN",
					work[0],
					work[2],
					"SAVEPOINT a",
					work[0],
					bad,
					"ROLLBACK TO SAVEPOINT a",
					work[0],
					work[2],
					end,
					work[0],
				)
			}
		}
	})
}

// A drain inside the application's transaction must neither commit it nor end
// with it: what others see shows.
func TestDrainDoesNotCommit(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect, "")
		for _, q := range []string{"UPDATE posts SET views = views * 2 WHERE id = 1", "DELETE FROM posts WHERE id = 1", "UPDATE posts SET views = 0",
			"SELECT views FROM posts WHERE id = 1 FOR UPDATE", "REPLACE INTO posts (id, views) VALUES (1, 5)"} {
			if dialect == "sqlite" && strings.HasSuffix(q, "UPDATE") || dialect == "postgres" && strings.HasPrefix(q, "REPLACE") {
				continue
			}
			for _, prepared := range []bool{false, true} {
				var in both
				var txs []*sql.Tx
				for _, db := range []*sql.DB{p.Plain, p.Wrapped} {
					if _, err := db.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
						t.Fatal(err)
					}
					tx, err := db.Begin()
					if err != nil {
						t.Fatal(err)
					}
					txs = append(txs, tx)
				}
				in = both{txs[0], txs[1]}
				in.same(t, twin.Statement{SQL: "INSERT INTO log (id, note) VALUES (1, 'x')"})
				in.same(t, twin.Statement{SQL: q, Prepared: prepared})
				if !strings.HasPrefix(
					q,
					"REPLACE",
				) { // by the row that is there MariaDB affects 1 row, or 2 where a foreign key refers to it
					in.same(t, twin.Statement{SQL: q, Prepared: prepared})
				}
				in.same(t, twin.Statement{SQL: totals})
				for _, tx := range txs {
					if err := tx.Rollback(); err != nil {
						t.Fatal(err)
					}
				}
				_, o := p.Same(t, twin.Statement{SQL: "SELECT COUNT(*) FROM log"})
				if n := fmt.Sprint(o.Sets[0].Rows); n != "[[0]]" && n != "[[[48]]]" {
					t.Errorf("%s: the transaction was committed: %s", q, n)
				}
				p.Same(t, twin.Statement{SQL: totals})
			}
		}
	})
}
