package workload

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// Placeholders of every style become the dialect's own; what is none stays.
func TestAdapt(t *testing.T) {
	for _, c := range []struct{ dialect, sql, want string }{
		{"mysql", "UPDATE a SET n=n+? WHERE id=?", "UPDATE a SET n=n+? WHERE id=?"},
		{"mysql", "UPDATE a SET n = n + :n WHERE id = :id", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + $1 WHERE id = $2", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + %s WHERE id = %(id)s AND b = '%s'", "UPDATE a SET n = n + ? WHERE id = ? AND b = '%s'"},
		{"mysql", "UPDATE a SET n = n + #{n} WHERE id = #{item.id,jdbcType=BIGINT}", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + {n} WHERE id = {}", "UPDATE a SET n = n + ? WHERE id = ?"},
		{"mysql", "UPDATE a SET n = n + @v # :x\n WHERE id = 1", "UPDATE a SET n = n + @v # :x\n WHERE id = 1"},
		{"postgres", "UPDATE a SET n = n + ? WHERE id=?", "UPDATE a SET n = n + $1 WHERE id=$2"},
		{"postgres", "UPDATE a SET n=n+? WHERE id = ?", "UPDATE a SET n=n+$1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + :n, m = m + :n WHERE id = :id::bigint AND b = ':x'", "UPDATE a SET n = n + $1, m = m + $1 WHERE id = $2::bigint AND b = ':x'"},
		{"postgres", "UPDATE a SET n = n + %s WHERE id = %d", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + @n WHERE id = @id", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + :1 WHERE id = :2", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "UPDATE a SET n = n + ?1 WHERE id = ?2 -- ?3", "UPDATE a SET n = n + $1 WHERE id = $2 -- ?3"},
		{"postgres", "UPDATE a SET n = n + ${n} WHERE id = ${id}", "UPDATE a SET n = n + $1 WHERE id = $2"},
		{"postgres", "SELECT a::int FROM b WHERE c ? 'key' AND d = $1", "SELECT a::int FROM b WHERE c ? 'key' AND d = $1"},
		{"postgres", "this is no SQL ?", "this is no SQL ?"},
		{"sqlite", "UPDATE a SET n = n + :n WHERE id = @id", "UPDATE a SET n = n + :n WHERE id = @id"},
		{"sqlite", "UPDATE a SET n = n + %s WHERE id = %s", "UPDATE a SET n = n + ?1 WHERE id = ?2"},
	} {
		got := Adapt(dialects[c.dialect], c.sql)
		if got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.dialect, c.sql, got, c.want)
		}
		if again := Adapt(dialects[c.dialect], got); again != got {
			t.Errorf("%s: %s changes again: %s", c.dialect, got, again)
		}
	}
}

func TestShape(t *testing.T) {
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
		if got := strings.ReplaceAll(Shape(dialects[c.dialect].LexRules(), c.sql), "  ", " "); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
	if got := Shape(dialects["mysql"].LexRules(), "SELECT "+strings.Repeat("column, ", 1000)); utf8.RuneCountInString(got) > maxShape+3 {
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

// Rules: a shape is one line of bounded length, and a literal behind any text
// that is whole does not survive in it.
func FuzzShape(f *testing.F) {
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
		got := Shape(d.LexRules(), sql+"\n'"+secret+"'")
		if strings.Contains(got, secret) || strings.ContainsFunc(got, unicode.IsControl) || utf8.RuneCountInString(got) > maxShape+3 ||
			!utf8.ValidString(got) {
			t.Errorf("%q becomes %q", sql, got)
		}
		if strings.Contains(Key(d.LexRules(), sql+"\n'"+secret+"'"), strings.ToUpper(secret)) {
			t.Errorf("the key of %q holds a literal", sql)
		}
		Adapt(d, sql)
	})
}
