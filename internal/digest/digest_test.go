package digest

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var dialects = map[string]rewrite.Dialect{"mysql": mysql.New(), "postgres": postgres.New(), "sqlite": sqlite.New()}

func TestText(t *testing.T) {
	for _, c := range []struct{ dialect, sql, want string }{
		{"mysql", "update a set n = n + 1, m = 'it''s' /* for ann@example.org */\n where id = 7 -- seven", "update a set n = n + ?, m = ? where id = ?"},
		{"mysql", "SELECT \"x\" FROM `a b` WHERE id IN (1, 2,3 , ?)", "SELECT ? FROM `a b` WHERE id IN (?, ...)"},
		{"postgres", `SELECT "x" FROM a WHERE id IN ($1, $2) AND s = $$secret$$ AND e = E'x\'y'`, `SELECT "x" FROM a WHERE id IN (?, ...) AND s = ? AND e = ?`},
		{"mysql", "INSERT INTO a (b, c) VALUES (1, 'x'), (2, 'y'), (3, NULL)", "INSERT INTO a (b, c) VALUES (?, ...), ..., (?, NULL)"},
		{"mysql", "INSERT INTO a VALUES (1), (2), (3), (4) ON DUPLICATE KEY UPDATE b = f(1)", "INSERT INTO a VALUES (?), ... ON DUPLICATE KEY UPDATE b = f(?)"},
		{"mysql", "SELECT 'never closed, secret", "SELECT ?"},
		{"postgres", "UPDATE a SET n=n+? WHERE id=?", "UPDATE a SET n=n+ ? WHERE id= ?"},
		{"sqlite", "SELECT [a]\u2028FROM b WHERE c = :name", "SELECT [a] FROM b WHERE c = ?"},
	} {
		if got := strings.ReplaceAll(Text(dialects[c.dialect].LexRules(), c.sql), "  ", " "); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
	if got := Text(dialects["mysql"].LexRules(), "SELECT "+strings.Repeat("column, ", 1000)); utf8.RuneCountInString(got) > maxText+3 {
		t.Errorf("%d runes", utf8.RuneCountInString(got))
	}
}

// What a server's statistics write is what the application sent.
func TestKey(t *testing.T) {
	lx := dialects["mysql"].LexRules()
	a, b := Key(lx, "UPDATE `posts` SET `views` = `views` + ? WHERE ID = ?"), Key(lx, "update posts set views=views+1 where id=7")
	if a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if c := Key(lx, "update posts set views=views-1 where id=7"); c == b {
		t.Error(c)
	}
}

// Rules: a text is one line of bounded length, and a literal behind any text
// that is whole does not survive in it.
func FuzzText(f *testing.F) {
	for _, s := range []string{"UPDATE a SET b = b + 1", "SELECT 'x", "INSERT INTO a VALUES (1),(2)", "/* x */ $$ $1 `a` [b] E'\\'"} {
		f.Add(s, "mysql")
		f.Add(s, "postgres")
		f.Add(s, "sqlite")
	}
	f.Fuzz(func(t *testing.T, sql, dialect string) {
		d := dialects[dialect]
		if d == nil {
			d = dialects["sqlite"]
		}
		const secret = "hunter2"
		whole := !slices.ContainsFunc(lex.Tokens(d.LexRules(), sql), func(t lex.Token) bool { return t.Kind == lex.Bad })
		if !whole || strings.Contains(sql, secret) {
			return
		}
		got := Text(d.LexRules(), sql+"\n'"+secret+"'")
		if strings.Contains(got, secret) || strings.ContainsFunc(got, unicode.IsControl) || utf8.RuneCountInString(got) > maxText+3 ||
			!utf8.ValidString(got) {
			t.Errorf("%q becomes %q", sql, got)
		}
		if strings.Contains(Key(d.LexRules(), sql+"\n'"+secret+"'"), strings.ToUpper(secret)) {
			t.Errorf("the key of %q holds a literal", sql)
		}
	})
}
