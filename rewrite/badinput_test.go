package rewrite_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/rewrite"
)

// TestBadInput plans statements that no application sends on purpose. Planning is
// bounded in time and memory whatever comes, and what cannot be understood but
// may concern a counter table never passes through.
func TestBadInput(t *testing.T) {
	const long, middling = 100 << 20, 8 << 20
	times := strings.Repeat
	set := "UPDATE posts SET views = 0 WHERE id = 1"
	for _, c := range []struct {
		name, sql string
		class     rewrite.Class // "" for any, as long as it is bounded
	}{
		{"100 MB string", "UPDATE posts SET views = 0, title = '" + times("x", long) + "' WHERE id = 1", rewrite.Drain},
		{"8 MB comment", set + " /*" + times("x", middling) + "*/", rewrite.Drain},
		{"100 MB of parentheses", "SELECT " + times("(", long/2) + "views" + times(")", long/2) + " FROM posts", rewrite.Drain},
		{"8 MB of additions", "UPDATE posts SET views = 1" + times("+1", middling/2), rewrite.Drain},
		{"8 MB of placeholders", "SELECT * FROM posts WHERE id IN (?" + times(",?", middling/2) + ")", rewrite.Drain},
		{"8 MB of statements", times(set+";", middling/len(set)), rewrite.Refused},
		{"8 MB of semicolons", set + times(";", middling), rewrite.Drain},
		{"100 MB without the name", "SELECT '" + times("post", long/4) + "'", rewrite.PassThrough},
		{"8 MB of the name", "SELECT '" + times("posts", middling/5) + "'", rewrite.Drain},
		{"8 MB of NUL", set + times("\x00", middling), rewrite.Drain},
		{"100,000 parentheses", "SELECT " + times("(", 100_000) + "views" + times(")", 100_000) + " FROM posts", rewrite.Drain},
		{"100,000 open parentheses", "SELECT views FROM posts WHERE " + times("(", 100_000), rewrite.Drain},
		{"100,000 subqueries", "SELECT views FROM " + times("(SELECT * FROM ", 50_000) + "posts" + times(") x", 50_000), rewrite.Drain},
		{"NOT NOT NOT", "SELECT id FROM posts WHERE " + times("NOT ", 200_000) + "views", ""},
		{"minus minus minus", "SELECT " + times("- ", 400_000) + "views FROM posts", ""},
		{"one long sum", "UPDATE posts SET views = views" + times(" + 1", 200_000) + " WHERE id = 1", ""},
		{"one long AND", "SELECT views FROM posts WHERE id = 1" + times(" AND id = 1", 90_000), ""},
		{"CASE in CASE", "SELECT " + times("CASE WHEN 1 THEN ", 50_000) + "views" + times(" END", 50_000) + " FROM posts", ""},
		{"brackets", "SELECT " + times("ARRAY[", 100_000) + "views" + times("]", 100_000) + " FROM posts", ""},
		{"UNION UNION UNION", "SELECT views FROM posts" + times(" UNION SELECT 1", 60_000), ""},
		{"many WITH queries", "WITH a0 AS (SELECT views FROM posts)" + series(", a%d AS (SELECT views FROM a%d)", 20_000) + " SELECT views FROM a20000", ""},
		{"WITH in WITH", times("WITH a AS (", 20_000) + "SELECT views FROM posts" + times(") SELECT * FROM a", 20_000), ""},
		{"many joins", "SELECT p0.views FROM posts p0" + series(" JOIN posts p%d ON p%d.views = 1", 20_000), ""},
		{"many columns of many tables", "SELECT p0.views" + times(", p0.views", 40_000) + " FROM posts p0" + series(", posts p%d", 30_000), ""},
		{"many bare columns", "SELECT id" + times(", id", 100_000) + " FROM posts p0" + series(", posts p%d", 30_000), ""},
		{"65,535 keys", "UPDATE posts SET views = 0 WHERE id IN (1" + times(", 1", 65_534) + ")", rewrite.Drain},
		{"65,535 rows", "INSERT INTO posts VALUES (1, 'a', 't', 1, 1)" + times(", (1, 'a', 't', 1, 1)", 40_000), ""},
		{"40,000 statements", times(set+";", 20_000), ""},
		{"82 digits", "UPDATE posts SET views = views + " + times("9", 400) + " WHERE id = 1", ""},
		{"1 MB number", "UPDATE posts SET views = views + " + times("9", 1_000_000) + " WHERE id = 1", ""},
		{"many dots", "SELECT posts" + times(".posts", 100_000) + " FROM posts", ""},
		{"unterminated string", set + " AND title = 'x", rewrite.Drain},
		{"unterminated identifier", set + ` AND "title = 1`, rewrite.Drain},
		{"unterminated comment", set + " /* x", rewrite.Drain},
		{"comment inside comment", set + " /* /* x */", ""},
		{"NUL", "UPDATE posts\x00SET views = 0", rewrite.Drain},
		{"NUL behind it", set + "\x00", rewrite.Drain},
		{"invalid UTF-8", "UPDATE posts SET title = '\xff\xfe', views = 0 WHERE id = 1", ""},
		{"invalid UTF-8 in a name", "UPDATE posts SET \xc3\x28 = 1, views = 0 WHERE id = 1", ""},
	} {
		for name := range engines {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				pl := fuzzPlannerOf(t, name)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				plan, err := pl.Plan(c.sql)
				took := time.Since(start)
				runtime.ReadMemStats(&after)
				if err != nil {
					t.Fatal(err)
				}
				if c.class != "" && plan.Class != c.class {
					t.Errorf("class %s, want %s: %.200s", plan.Class, c.class, plan.Reason)
				}
				if plan.Class == rewrite.PassThrough && c.class != rewrite.PassThrough && strings.Contains(c.sql, "views = 0") {
					t.Error("a statement that sets the counter passes through")
				}
				// Time is bounded by the test's own limit: machines differ. What is
				// allocated grows with it.
				if bytes, limit := after.TotalAlloc-before.TotalAlloc, uint64(len(c.sql))/4+1<<30; bytes > limit {
					t.Errorf("allocated %d MB for a statement of %d MB", bytes>>20, len(c.sql)>>20)
				}
				if took > time.Second {
					t.Logf("took %v, %d MB", took, (after.TotalAlloc-before.TotalAlloc)>>20)
				}
			})
		}
	}
}

func series(format string, n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if strings.Count(format, "%d") == 2 {
			fmt.Fprintf(&b, format, i, i-strings.Count(format, "AS ("))
			continue
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
