package random

import (
	"regexp"
	"testing"
)

// Alike changes literals that a plan may be shared by, and nothing else.
func TestAlike(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT 5, 'a' FROM posts LIMIT 3": ``,
		"SELECT 5 FROM posts WHERE \"5\" = `6` AND x7 = $8 /* 9 */ AND 0 = ? ORDER BY 5 LIMIT 3": ``,
		"SELECT 5 FROM posts WHERE id = 7 AND title = 'a' ORDER BY 5":                            `SELECT 5 FROM posts WHERE id = [1-9]\d{0,3} AND title = '[ -~]*' ORDER BY 5`,
		"UPDATE posts SET views = views + 1, title = 'it''s' WHERE id = 7 RETURNING 8":           `UPDATE posts SET views = views \+ [1-9]\d{0,3}, title = '(it''s|é)' WHERE id = [1-9]\d{0,3} RETURNING 8`,
	} {
		changed := 0
		for seed := range uint64(20) {
			got := Alike(sql, seed)
			if got == "" {
				continue
			}
			changed++
			if !regexp.MustCompile("^"+want+"$").MatchString(got) || want == "" {
				t.Errorf("%s: %s", sql, got)
			}
		}
		if want != "" && changed < 10 {
			t.Errorf("%s: changed %d times of 20", sql, changed)
		}
	}
}
