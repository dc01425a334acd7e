package lex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNameIndex(t *testing.T) {
	long := strings.Repeat("x", 63)
	names := []string{"posts", "order items", "2fa", "straße", `we"ird`, "a$b", long, "123"}
	index := NewNameIndex(names)
	for _, c := range []struct{ sql, want string }{
		{"SELECT * FROM posts", "posts"},
		{"select*from POSTS", "posts"},
		{`UPDATE "main"."Posts" SET n = 1`, "posts"},
		{"SELECT * FROM blogposts, posts2, posts_slots", ""},
		{"SELECT 1FROM posts", "posts"},
		{"/*!50000posts*/", "posts"},
		{`PREPARE s FROM 'SELECT *\nFROM\nposts'`, "posts"},
		{`'\x0aposts'`, "posts"},
		{"SELECT '\u00a0posts'", "posts"},
		{"\ufeffposts", "posts"},
		{"DO $x$posts$x$", "posts"},
		{"SELECT $1, $2", ""},
		{"SELECT * FROM `order items`", "order items"},
		{"SELECT * FROM items", ""},
		{"SELECT * FROM 2FA", "2fa"},
		{"SELECT * FROM STRASSE, straße", "straße"},
		{`SELECT * FROM "we""ird"`, `we"ird`},
		{"SELECT * FROM a$b", "a$b"},
		{"SELECT * FROM a$c", ""},
		{"SELECT * FROM " + long + "yz", long},
		{"SELECT * FROM \"123\"", "123"},
		{strings.Repeat("1a", 1<<16) + "posts", "posts"},
		{"", ""},
	} {
		var got []string
		index.Find(c.sql, func(i int) bool {
			if !slices.Contains(got, names[i]) {
				got = append(got, names[i])
			}
			return true
		})
		if s := strings.Join(got, ","); s != c.want {
			t.Errorf("%.60q: found %q, want %q", c.sql, s, c.want)
		}
		if index.In(c.sql) != (c.want != "") {
			t.Errorf("%.60q: In is %v", c.sql, c.want == "")
		}
	}
}

// Looking for names takes no memory, and of no name in particular: with many names no
// text is searched for each of them.
func TestNameIndexAllocatesNothing(t *testing.T) {
	sql := "SELECT id, name, email FROM users WHERE id = ? AND deleted_at IS NULL"
	index := manyNames(1000)
	if n := testing.AllocsPerRun(100, func() { index.In(sql) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if len(index.always) > 0 {
		t.Errorf("%d names are searched for in every statement", len(index.always))
	}
}

func manyNames(n int) *NameIndex {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("table_%d", i))
	}
	return NewNameIndex(names)
}

func BenchmarkNameIndex(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("names=%d", n), func(b *testing.B) {
			index := manyNames(n)
			for b.Loop() {
				index.In("SELECT id, name, email FROM users WHERE id = ? AND deleted_at IS NULL")
			}
		})
	}
}

// FuzzNameIndex: a name that the scanner of any dialect finds in a statement as a word or
// between quotes, the index finds, too.
func FuzzNameIndex(f *testing.F) {
	for _, s := range []string{"SELECT 1FROM posts", "`a b`.x", "1e5x", "[posts]", `"Posts"`, "/*!1posts*/", "\xffposts", "$1posts", "a$posts$b"} {
		f.Add(s, "posts")
	}
	f.Fuzz(func(t *testing.T, sql, name string) {
		if name == "" || len(sql) > 4096 || len(name) > 200 {
			return
		}
		index := NewNameIndex([]string{name})
		for _, lx := range []*Rules{
			{Backtick: true, DoubleString: true, Backslash: true, HashComment: true, ExecComment: true, QuestionParam: true, AtVariable: true},
			{NestedComment: true, EString: true, DollarString: true, DollarParam: true},
			{Backtick: true, Bracket: true, QuestionParam: true, QuestionNumber: true, NamedParam: true, MarkIsSpace: true},
		} {
			for _, tok := range Tokens(lx, sql) {
				s := sql[tok.Start:tok.End]
				named := tok.Kind == Word && Spells(s, name)
				if tok.Kind == QuotedIdent && !strings.ContainsAny(name, "\"`'") && len(s) > 1 {
					named = Spells(s[1:len(s)-1], name)
				}
				if named && len(s) < 1000 && asciiOrSame(s, name) && !index.In(sql) {
					t.Fatalf("%q: %q is not found", sql, name)
				}
			}
		}
	})
}

// asciiOrSame leaves out letters whose other case has another length: no engine takes
// one for the other.
func asciiOrSame(token, name string) bool {
	return len(token) >= len(name) && ContainsFold(token, name)
}
