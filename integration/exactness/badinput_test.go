// Package exactness holds the tests of statements that are easily got wrong: what the plain driver gives,
// an error or what a trigger sees, is what slotsql gives.
package exactness

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestBadInput sends statements that no application sends on purpose through both
// drivers, with slots that are not empty. The class of the error, or the rows,
// and all totals afterwards must be those of the plain driver.
func TestBadInput(t *testing.T) {
	times := strings.Repeat
	const set = "UPDATE posts SET views = 0 WHERE id = 1"
	statements := map[string]string{
		"empty comment":                "/* posts */",
		"unterminated string":          set + " AND title = 'x",
		"unterminated identifier":      set + ` AND "title = 1`,
		"unterminated backtick":        set + " AND `title = 1",
		"unterminated bracket":         set + " AND [title = 1",
		"unterminated comment":         set + " /* x",
		"unterminated dollar":          set + " AND title = $posts$x",
		"comment in comment":           set + " /* /* x */",
		"comment in comment, closed":   set + " /* /* x */ */",
		"comment to the end":           set + " -- x",
		"comment without blank":        set + " --x",
		"hash":                         set + " # x",
		"carriage return":              "-- posts\r" + set,
		"NUL":                          "UPDATE posts\x00SET views = 0",
		"NUL behind":                   set + "\x00",
		"NUL behind, and more":         set + "\x00 OR 1 = 1",
		"NUL in a string":              "UPDATE posts SET title = 'a\x00b', views = 0 WHERE id = 1",
		"invalid UTF-8":                "UPDATE posts SET title = '\xff\xfe', views = 0 WHERE id = 1",
		"invalid UTF-8 in a name":      "UPDATE posts SET \xc3\x28 = 1, views = 0 WHERE id = 1",
		"invalid UTF-8 behind":         set + " \xff",
		"byte order mark":              "\ufeff" + set,
		"byte order mark before name":  "UPDATE \ufeffposts SET views = 0 WHERE id = 1",
		"no-break space":               "UPDATE\u00a0posts\u00a0SET views = 0",
		"vertical tab":                 "UPDATE\vposts\vSET\vviews = 0 WHERE id = 1",
		"form feed":                    "UPDATE\fposts\fSET\fviews = 0 WHERE id = 1",
		"backticks":                    "UPDATE `posts` SET `views` = 0 WHERE `id` = 1",
		"double quotes":                `UPDATE "posts" SET "views" = 0 WHERE "id" = 1`,
		"brackets":                     "UPDATE [posts] SET [views] = 0 WHERE [id] = 1",
		"single quotes":                "UPDATE 'posts' SET 'views' = 0 WHERE 'id' = 1",
		"quotes inside":                `UPDATE "po""sts" SET "vi""ews" = 0`,
		"backticks inside":             "UPDATE `po``sts` SET `vi``ews` = 0",
		"unicode escapes":              `UPDATE U&"p\006fsts" SET U&"v\0069ews" = 0 WHERE id = 1`,
		"unicode escapes, other sign":  `UPDATE U&"p!006fsts" UESCAPE '!' SET views = 0 WHERE id = 1`,
		"unicode escape of a column":   `UPDATE posts SET U&"\0076iews" = 0 WHERE id = 1`,
		"executable comment":           "UPDATE posts SET title = 'x' /*! , views = 0 */ WHERE id = 1",
		"executable comment, version":  "UPDATE posts SET title = 'x' /*!50000 , views = 0 */ WHERE id = 1",
		"executable comment, too new":  "UPDATE posts SET title = 'x' /*!999999 , views = 0 */ WHERE id = 1",
		"MariaDB comment":              "UPDATE posts SET title = 'x' /*M! , views = 0 */ WHERE id = 1",
		"MariaDB comment, version":     "UPDATE posts SET title = 'x' /*M!100100 , views = 0 */ WHERE id = 1",
		"name in executable comment":   "UPDATE /*! posts */ SET views = 0 WHERE id = 1",
		"statement in a comment":       "/*! UPDATE posts SET views = 0 WHERE id = 1 */",
		"comment ends inside comment":  "UPDATE posts SET title = 'x' /*! , views = 0 /* */ */ WHERE id = 1",
		"read in executable comment":   "SELECT id /*! , views */ FROM posts ORDER BY id",
		"name as string":               "SELECT 'posts', \"posts\" FROM other",
		"name as alias":                "SELECT posts.views FROM other AS posts",
		"name as quoted alias":         "SELECT 1 AS \"posts\", views AS \"'; DROP TABLE posts; --\" FROM posts ORDER BY id",
		"alias with quotes":            "SELECT p.views FROM posts AS \"p\"\"; DELETE FROM posts; --\" JOIN posts p ON 1 = 1 ORDER BY 1",
		"backtick alias with quotes":   "SELECT `a``'\"; DROP TABLE posts`.views FROM posts AS `a``'\"; DROP TABLE posts` ORDER BY 1",
		"string with quotes":           `SELECT SUM(views) FROM posts WHERE title = 'o''ne' OR title = 'one\' OR 1=1 -- '`,
		"string with backslash":        `UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> 'a\\'`,
		"escape string":                `UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> E'a\' OR 1=1 -- '`,
		"dollar string":                `UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> $a$ ' $b$ " $a$`,
		"semicolon in a string":        "UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> '; UPDATE posts SET views = 0; --'",
		"semicolon in an identifier":   `UPDATE posts AS "a;b" SET views = "a;b".views + 1 WHERE "a;b".id = 1`,
		"parentheses":                  "SELECT " + times("(", 90) + "views" + times(")", 90) + " FROM posts ORDER BY id",
		"1,000 parentheses":            "SELECT id FROM posts WHERE " + times("(", 1000) + "views > 0" + times(")", 1000) + " ORDER BY id",
		"100,000 parentheses":          "SELECT " + times("(", 100_000) + "views" + times(")", 100_000) + " FROM posts",
		"100,000 open parentheses":     "SELECT views FROM posts WHERE " + times("(", 100_000),
		"82 digits":                    "UPDATE posts SET views = views + " + times("9", 82) + " WHERE id = 1",
		"many digits behind the point": "UPDATE posts SET views = views + 1." + times("0", 200) + " WHERE id = 1",
		"number with underscores":      "UPDATE posts SET views = views + 1_0 WHERE id = 1",
		"hexadecimal":                  "UPDATE posts SET views = views + 0x10 WHERE id = 1",
		"binary string":                "UPDATE posts SET views = views + b'1' WHERE id = 1",
		"number glued to a word":       "UPDATE posts SET views = views + 1WHERE id = 1",
		"plus plus":                    "UPDATE posts SET views = views ++ 1 WHERE id = 1",
		"minus minus":                  "UPDATE posts SET views = views --1 WHERE id = 1",
		"minus minus, next line":       "UPDATE posts SET views = views --1\n + 5 WHERE id = 1",
		"colon equals":                 "UPDATE posts SET views := views + 1 WHERE id = 1",
		"twice the name":               "UPDATE posts posts SET views = posts.views + 1 WHERE posts.id = 1",
		"spaces around dots":           "SELECT posts . views FROM posts WHERE posts /* x */ . id = 1",
		"2 MB comment":                 set + " /*" + times("x", 2<<20) + "*/",
		"2 MB list":                    "UPDATE posts SET views = views + 1 WHERE id IN (1" + times(", 1", 700_000) + ")",
		"empty parts":                  ";;" + set + ";;",
		"half a statement":             "UPDATE posts SET",
		"one word":                     "posts",
		"many joins":                   "SELECT p.views FROM posts p" + times(" LEFT JOIN other USING (id)", 40) + " ORDER BY 1",
	}
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, views INT NOT NULL)",
					"CREATE TABLE other (id INT PRIMARY KEY, views INT NOT NULL)",
					"INSERT INTO posts VALUES (1, 'one', 10), (2, 'two', 20)",
					"INSERT INTO other VALUES (1, 7), (2, 8)",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n",
			})
			for _, name := range slices.Sorted(maps.Keys(statements)) {
				query := statements[name]
				if dialect == "sqlite" && slices.Contains([]string{"empty comment", "carriage return", "statement in a comment"}, name) {
					continue // no statement: the driver's result is nil, and RowsAffected panics
				}
				if !t.Run(name, func(t *testing.T) { sameBadInput(t, p, query) }) {
					return // the sides may be apart from here on
				}
			}
			t.Run("100 MB", func(t *testing.T) {
				sameBadInput(t, p, set+" /*"+times("x", 100<<20)+"*/")
			})
		})
	}
}

func sameBadInput(t *testing.T, p *twin.Pair, query string) {
	t.Helper()
	for _, prepared := range []bool{false, true} {
		for _, id := range []string{"1", "2"} {
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = " + id})
		}
		plain, wrapped := p.Run(t.Context(), twin.Statement{SQL: query, Prepared: prepared})
		for _, d := range twin.Compare(plain, wrapped) {
			t.Errorf("prepared %v: %s\n%.300q", prepared, d, query)
		}
		ds, err := p.FinalTables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			t.Fatalf("prepared %v: afterwards: %s\n%.300q", prepared, d, query)
		}
	}
}
