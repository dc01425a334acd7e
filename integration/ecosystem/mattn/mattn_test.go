//go:build cgo

package mattn

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/cases"
	"github.com/slotsql/slotsql/integration/ecosystem/calls"
	"github.com/slotsql/slotsql/integration/ecosystem/sessions"
	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

func TestParent(t *testing.T) {
	slotsql.Register("sqlite3-mattn", &sqlite3.SQLiteDriver{}, dialect, nil)
	suite.Run(t, "sqlite3", "sqlite3-mattn", func() string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_journal_mode=WAL&_busy_timeout=60000"
	})
}

func TestCalls(t *testing.T) { calls.Run(t) }

func TestGolden(t *testing.T) { cases.Run(t, "../../../rewrite/testdata", "sqlite") }

func TestSession(t *testing.T) {
	const first = "a prepared statement is the first of its call, and the others are dropped"
	sessions.Run(t, "mattn", map[string]string{
		"TestSQLitePlaceholders/prepared=false/UPDATE_posts_SET_views_=_views_+_:n_WHERE_id_=_@n":                                               "one argument for :n and @n is too few",
		"TestSQLitePlaceholders/prepared=true/UPDATE_posts_SET_views_=_views_+_?_WHERE_id_=_?;_UPDATE_posts_SET_views_=_views_-_?_WHERE_id_=_?": first,
		"TestSQLitePlaceholders/prepared=true/UPDATE_posts_SET_views_=_views_+_?_WHERE_id_=_1;_UPDATE_posts_SET_views_=_?_WHERE_id_=_2":         first,
	})
}

func TestValues(t *testing.T) {
	want := suite.SQLiteTypes()
	suite.Values(t, suite.SQLite, want, "sqlite", server.SQLite(t)) // modernc.org/sqlite
	want["BOOLEAN"] = "bool"
	suite.Values(t, suite.SQLite, want, "mattn", server.SQLite(t))
}

// TestSeveralStatements: arguments of a call of several statements, with and without names and numbers.
func TestSeveralStatements(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "sqlite", Config: suite.Config, Schema: suite.Schema,
	})
	by, id := sql.Named("by", 5), sql.Named("id", 2)
	for _, s := range []twin.Statement{
		{SQL: "UPDATE posts SET views = views + ? WHERE id = ?; UPDATE posts SET views = views * ? WHERE id = ?", Args: []any{3, 1, 2, 1}},
		{SQL: "UPDATE posts SET views = views + ?1 WHERE id = ?1; UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{1, 7, 2}},
		{SQL: "UPDATE posts SET views = views + :by WHERE id = :id; UPDATE posts SET views = views * :by WHERE id = :id", Args: []any{by, id}},
		{SQL: "UPDATE posts SET views = views + :by WHERE id = :id; UPDATE posts SET views = views * 2 WHERE id = ?", Args: []any{by, id, 1}},
		{SQL: "UPDATE posts SET title = ? WHERE id = 1; UPDATE posts SET views = views + ? WHERE id = ?", Args: []any{"x", 7, 2}},
	} {
		p.Same(t, s)
		p.Same(t, twin.Statement{SQL: "SELECT id, views, title FROM posts ORDER BY id"})
	}
}
