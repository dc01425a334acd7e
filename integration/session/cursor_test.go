package session

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
)

// A cursor is declared over totals, and slots are folded behind its back by a
// statement that names its row with CURRENT OF: the row is the same one still.
func TestCursor(t *testing.T) {
	p := newPair(t, "postgres", "")
	steps := []string{
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"BEGIN",
		"DECLARE c CURSOR FOR SELECT id, views FROM posts WHERE id = 1",
		"FETCH 1 FROM c",
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"UPDATE posts SET title = 'x' WHERE CURRENT OF c",
		"UPDATE posts SET views = views + 1 WHERE CURRENT OF c",
		"UPDATE posts SET views = 100 WHERE CURRENT OF c",
		"UPDATE posts SET views = views + 1 WHERE id = 1",
		"COMMIT",
		"UPDATE posts SET views = views + 1 WHERE id = 2",
		"BEGIN",
		"DECLARE c CURSOR FOR SELECT id, views FROM posts WHERE views > 0 AND id = 1 FOR UPDATE",
		"FETCH 1 FROM c",
		"DELETE FROM posts WHERE CURRENT OF c RETURNING views",
		"COMMIT",
		"BEGIN",
		"DECLARE c BINARY INSENSITIVE CURSOR WITH HOLD FOR SELECT id, views FROM posts ORDER BY views DESC, id",
		"UPDATE posts SET views = 0",
		"COMMIT",
		"FETCH 10 FROM c",
		"CLOSE c",
		"COPY (SELECT id, views FROM posts) TO STDOUT",
		"SELECT * FROM posts ORDER BY id",
	}
	run := func(db *sql.DB) (out []string) {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, s := range steps {
			out = append(out, s+": "+outcome(t.Context(), conn, s))
		}
		return out
	}
	plain, wrapped := run(p.Plain), run(p.Wrapped)
	for i := range plain {
		t.Log(plain[i])
		if plain[i] != wrapped[i] {
			t.Errorf("plain   %s\nwrapped %s", plain[i], wrapped[i])
		}
	}
}

// outcome is what a statement returns or affects, as text.
func outcome(ctx context.Context, conn *sql.Conn, s string) string {
	if s[0] != 'F' && s[0] != 'S' { // FETCH, SELECT
		res, err := conn.ExecContext(ctx, s)
		if err != nil {
			return err.Error()
		}
		n, err := res.RowsAffected()
		return fmt.Sprint(n, err)
	}
	rows, err := conn.QueryContext(ctx, s)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	query := ""
	names, _ := rows.Columns()
	for rows.Next() {
		row := make([]any, len(names))
		to := make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return err.Error()
		}
		query += fmt.Sprint(row)
	}
	return fmt.Sprint(names, query, rows.Err())
}
