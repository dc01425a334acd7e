// Package calls tests how a parent treats calls that database/sql leaves it to check.
package calls

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/ecosystem/suite"
	"github.com/slotsql/slotsql/integration/twin"
)

// grouped has no slots: increments run on the base row, and slotsql's statements are kept prepared where the parent is slow to parse.
const grouped = "version: 1\ntables: {posts: {counters: {views: {}}, slots: 0}}\n"

// Run makes calls that a parent leaves to database/sql to check, or ends in its own way: with fewer
// and with more arguments than placeholders, and an Exec of a statement that returns rows, after
// which others can write.
func Run(t *testing.T) {
	t.Helper()
	for name, config := range map[string]string{"slots": suite.Config, "grouped": grouped} {
		t.Run(name, func(t *testing.T) {
			p := twin.New(t, twin.Options{
				Dialect: "sqlite", Config: config, Schema: suite.Schema, Params: "_pragma=busy_timeout(0)&_busy_timeout=0",
			})
			const add = "UPDATE posts SET views = views + ? WHERE id = ?"
			const upsert = "INSERT INTO posts (id, views) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET views = posts.views + 1"
			for range 2 { // the second time, the statement is there already
				for _, s := range []twin.Statement{
					{SQL: add, Args: []any{5, 1}}, {SQL: add, Args: []any{1}}, {SQL: add, Args: []any{1, 1, 1}},
					{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1", Args: []any{1}},
					{SQL: upsert, Args: []any{1}}, {SQL: upsert}, {SQL: upsert, Args: []any{1, 2}},
					{SQL: "SELECT views FROM posts WHERE id = ?"}, {SQL: "SELECT views FROM posts WHERE id = ?", Args: []any{1}},
					{SQL: "SELECT id, views FROM posts ORDER BY id"},
				} {
					for _, prepared := range []bool{false, true} {
						s.Prepared = prepared
						p.Same(t, s)
					}
				}
			}
			plain, wrapped := drawn(t, p.Plain), drawn(t, p.Wrapped)
			if plain != wrapped {
				t.Errorf("plain: %s\nwrapped: %s", plain, wrapped)
			}
		})
	}
}

// drawn draws numbers by Exec on one connection, while another one counts.
func drawn(t *testing.T, db *sql.DB) string {
	t.Helper()
	one, other := suite.Pin(t, db), suite.Pin(t, db)
	var out []any
	for range 3 {
		for _, s := range []twin.Statement{
			{SQL: "UPDATE posts SET views = views + 1 WHERE id = 3 RETURNING views", Mode: twin.Exec},
			{SQL: "UPDATE posts SET views = views + ? WHERE id = ? RETURNING views", Args: []any{1, 3}, Mode: twin.Exec},
		} {
			o := twin.Run(t.Context(), one, s)
			out = append(out, twin.Class(o.Err))
			o = twin.Run(t.Context(), other, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
			if out = append(out, twin.Class(o.Err), o.RowsAffected.Value); o.Err != nil {
				return fmt.Sprint(out...)
			}
		}
	}
	return fmt.Sprint(append(out, twin.Rows(t, one, "SELECT id, views FROM posts ORDER BY id"))...)
}
