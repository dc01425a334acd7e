package mysql

import "testing"

func TestReturning(t *testing.T) {
	for _, tt := range []struct {
		sql   string
		items []string // of the list
	}{
		{"INSERT INTO posts (title) VALUES ('returning x') RETURNING `id`, views + 1 AS v", []string{"`id`", "views + 1"}},
		{"REPLACE INTO posts VALUES (?) RETURNING *", []string{"*"}},
		{"DELETE FROM posts WHERE id = ? RETURNING posts.views", []string{"posts.views"}},
		{"INSERT INTO posts SET views = 1 ON DUPLICATE KEY UPDATE views = views + 1 RETURNING id", []string{"id"}},
	} {
		st, err := New().Parse(tt.sql)
		if err != nil || st.Opaque != "" || len(st.Returning) != len(tt.items) {
			t.Errorf("%s: %+v %v", tt.sql, st, err)
			continue
		}
		for i, it := range st.Returning {
			if got := tt.sql[it.Expr.Start:it.Expr.End]; got != tt.items[i] {
				t.Errorf("%s: item %d is %q, want %q", tt.sql, i, got, tt.items[i])
			}
		}
	}
	for _, sql := range []string{"INSERT INTO posts VALUES (1) RETURNING", "DELETE FROM posts RETURNING id FROM x", "INSERT INTO posts (returning) VALUES (1)"} {
		if st, err := New().Parse(sql); err == nil && st.Opaque == "" && len(st.Returning) > 0 {
			t.Errorf("%s: accepted", sql)
		}
	}
}
