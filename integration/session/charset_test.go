package session

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// wideStatements are statements with characters whose second byte is a backslash or a
// backtick in the character set, so that by other rules the statement goes on
// elsewhere.
func wideStatements(lead string) []string {
	slash, tick := lead+"\\", lead+"`"
	return []string{
		"UPDATE posts SET views = views + 1, title = '" + slash + "' WHERE id = 1",
		"UPDATE posts SET title = '" + slash + "', views = 7 WHERE id = 2 AND title <> ' WHERE id = 1 -- '",
		"SELECT '" + slash + "', views FROM posts WHERE title <> ' FROM log -- ' ORDER BY id",
		"INSERT INTO log (id, note) SELECT views, '" + slash + "' FROM posts WHERE title <> '' ORDER BY id LIMIT 1",
		"UPDATE posts SET views = views + 1 WHERE id = 1 /* ' " + slash + "' */ AND '" + slash + "' <> ' OR 1 = 1 -- '",
		"SELECT views AS `" + tick + "`, likes FROM posts ORDER BY id",
		"SELECT COUNT(*) FROM log WHERE note <> '" + slash + "' OR (SELECT SUM(views) FROM posts) > 0 AND note <> ' -- '",
		"UPDATE posts SET views = views + 1 WHERE id = 1 AND title <> '" + lead + "A'",
	}
}

// A session's statements may come in a character set in which bytes beyond the
// first of a character look like ASCII: set by the DSN, or as it goes along.
func TestCharacterSets(t *testing.T) {
	for charset, lead := range map[string]string{
		"gbk": "\xbf", "big5": "\xa5", "sjis": "\x83", "cp932": "\x95", "latin1": "\xe9", "utf8mb4": "é", "binary": "\xe9",
	} {
		for _, how := range []string{"dsn", "text"} {
			t.Run(charset+"/"+how, func(t *testing.T) {
				t.Parallel()
				params := ""
				if how == "dsn" {
					params = "charset=" + charset
				}
				p := newPair(t, "mysql", params)
				one := pinned(t, p)
				one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				if how == "text" {
					one.same(t, twin.Statement{SQL: "SET NAMES " + charset})
				}
				for _, query := range wideStatements(lead) {
					if charset == "latin1" || charset == "utf8mb4" || charset == "binary" {
						query = wideStatements(lead)[7] // a backslash is one there
					}
					one.same(t, twin.Statement{SQL: query})
					one.same(t, twin.Statement{SQL: "SELECT id, views, likes, HEX(title) FROM posts ORDER BY id"})
				}
				one.same(
					t,
					twin.Statement{SQL: "UPDATE posts SET views = views + ? WHERE id = 1 AND title <> ?", Args: []any{3, lead + "\\"}},
				)
				one.same(
					t,
					twin.Statement{
						SQL:  "INSERT INTO posts (id, views, title) VALUES (1, 1, ?) ON DUPLICATE KEY UPDATE views = views + 1",
						Args: []any{lead + "\\"},
					},
				)
				one.same(t, twin.Statement{SQL: "SELECT * FROM posts ORDER BY views DESC LIMIT 2"})
				one.same(t, twin.Statement{SQL: "SET NAMES utf8mb4"})
				one.script(t, nil, work...)
				one.same(t, twin.Statement{SQL: "SELECT HEX(note) FROM log ORDER BY id"})
			})
		}
	}
}

// The lexical parts of sql_mode decide what quotes and backslashes mean.
func TestQuotesBySQLMode(t *testing.T) {
	for mode, statements := range map[string][]string{
		"ANSI_QUOTES": {
			`UPDATE "posts" SET "views" = "views" + 1 WHERE "id" = 1`,
			`SELECT "views", "p"."likes" AS "a\", "title" FROM "posts" "p" WHERE "views" > 0 ORDER BY "views" DESC LIMIT 2`,
			`SELECT p."views" AS "'" FROM posts p WHERE title <> ''' OR 1=0 -- '`,
			`INSERT INTO "posts" ("id", "views") VALUES (1, 3) ON DUPLICATE KEY UPDATE "views" = "posts"."views" + VALUES("views")`,
			`UPDATE posts SET views = 5 WHERE id = 2 AND 1 || 2 = 1`,
			`SELECT * FROM "posts" ORDER BY "id"`,
			`UPDATE posts SET title = "views" WHERE id = 1`,
			`DELETE FROM "posts" WHERE "views" = 999`,
		},
		"ANSI": {
			`UPDATE "posts" SET "views" = "views" + 1 WHERE "id" = 1`,
			`UPDATE "posts" SET "views" = "views" + 1 WHERE "id" = 1 || ''`,
			`UPDATE "posts" SET "title" = 'a' || views WHERE "id" = 1`,
			`SELECT "title" || "views" FROM "posts" ORDER BY "id"`,
			`SELECT SUM ("views"), COUNT (*), MAX ("likes") FROM "posts"`,
			`SELECT * FROM "posts" ORDER BY "id"`,
		},
		"NO_BACKSLASH_ESCAPES": {
			`UPDATE posts SET views = views + 1, title = '\' WHERE id = 1`,
			`UPDATE posts SET title = '\', views = 7 WHERE id = 2 AND title <> ' WHERE id = 1 -- '`,
			`SELECT '\', views FROM posts WHERE title <> ' FROM log -- ' ORDER BY id`,
			`SELECT "\", views FROM posts WHERE title <> ' FROM log -- ' ORDER BY id`,
			`UPDATE posts SET views = views + 1 WHERE id = 1 AND title LIKE '\'`,
			`SELECT * FROM posts ORDER BY id`,
		},
	} {
		for _, how := range []string{"dsn", "text"} {
			t.Run(mode+"/"+how, func(t *testing.T) {
				t.Parallel()
				params := ""
				if how == "dsn" {
					params = fmt.Sprintf("sql_mode='%s'", mode)
				}
				p := newPair(t, "mysql", params)
				one := pinned(t, p)
				one.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
				if how == "text" {
					one.same(t, twin.Statement{SQL: "SET sql_mode = '" + mode + "'"})
				}
				for range 2 {
					for _, query := range statements {
						one.same(t, twin.Statement{SQL: query})
						one.same(t, twin.Statement{SQL: query, Prepared: true})
					}
				}
				// And back.
				one.same(t, twin.Statement{SQL: "SET sql_mode = DEFAULT"})
				one.same(t, twin.Statement{SQL: `UPDATE posts SET views = views + 1, title = "it\'s" WHERE id = 1`})
				one.same(t, twin.Statement{SQL: `SELECT "views", views FROM posts WHERE title = 'it\'s'`})
				one.script(t, nil, work...)
			})
		}
	}
}

// A call of several statements whose first one changes how the others are read.
func TestSettingInsideText(t *testing.T) {
	t.Parallel()
	p := newPair(t, "mysql", "multiStatements=true")
	one := pinned(t, p)
	for _, query := range []string{
		"SET @a = 1; UPDATE posts SET views = views + 1 WHERE id = 1; SET NAMES utf8mb4",
		"SET NAMES utf8mb4; UPDATE posts SET views = views + 1 WHERE id = 1",
		"SET sql_mode = 'STRICT_TRANS_TABLES'; UPDATE posts SET views = views * 2 WHERE id = 1",
		"/*!40101 SET NAMES utf8 */; /*!40101 SET @o = @@sql_mode, sql_mode = 'NO_AUTO_VALUE_ON_ZERO' */; INSERT INTO posts (id, views) VALUES (0, 1); /*!40101 SET sql_mode = @o */",
	} {
		one.same(t, twin.Statement{SQL: query, Mode: twin.Exec})
		one.same(t, twin.Statement{SQL: totals})
	}
	query := `SET sql_mode = 'ANSI_QUOTES'; UPDATE "posts" SET title = "title", views = 9 WHERE id = 1`
	if _, err := one.wrapped.ExecContext(context.Background(), query); !errors.Is(err, slotsql.ErrUnsupported) {
		t.Errorf("%v (%s)", err, twin.Class(err))
	}
}
