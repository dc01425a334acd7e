package rewrite_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// FuzzScanner holds the scanner to these rules, in every dialect: it does not
// panic; tokens are not empty, stand in order and inside the statement; what stands
// between them is white space and whole comments, read here with regular
// expressions; a Bad token that is not a single byte runs to the end; quotes
// are of the same kind at both ends of a token.
func FuzzScanner(f *testing.F) {
	for _, c := range cases(f) {
		for _, d := range c.Dialects {
			s, err := c.Statement(d)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(s.SQL)
		}
	}
	for _, sql := range hostile {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 1<<16 {
			return
		}
		for name, d := range engines {
			checkTokens(t, name, d.LexRules(), sql)
		}
	})
}

// hostile SQL: unfinished quotes and comments, quotes inside quotes, prefixes
// of strings, and bytes that are in no SQL.
var hostile = []string{
	"",
	"'",
	"\"",
	"`",
	"[",
	"/*",
	"/*/",
	"--",
	"#",
	"$$",
	"$a$",
	"E'\\",
	"U&\"",
	"U&'",
	"/*!",
	"/*M!50000 */",
	"\x00",
	"\xff\xfe",
	"'a''b' \"a\"\"b\" `a``b` [a]b]",
	"'\\'' '\\\\' \"\\\"\"",
	"/* /* */ */ x",
	"-- a\n# b\n x",
	"--x\n",
	"1e+5 .5 5. 0x1f 1_000",
	"$1$2 ?1? :a@b $c @@x @`y z`",
	"a-- b",
	"a/* b */c",
	"1-#\n1",
	"x'ff' N'a' _utf8'a' b'1'",
	"$tag$ ' $tag$ $1",
	"posts\u00a0views \u2028",
	strings.Repeat("(", 300),
	"a=+-b<>c->>'d'",
}

// between is what may stand between tokens: white space and comments. Nested
// comments are not regular: any text that begins and ends as they do passes.
var (
	between = map[string]*regexp.Regexp{
		"mysql":    regexp.MustCompile(`^(?s:[ \t\n\r\f\v]|#[^\n]*(?:\n|$)|--(?:[ \t\r\f\v][^\n]*)?(?:\n|$)|/\*.*?\*/)*$`),
		"postgres": regexp.MustCompile(`^(?s:[ \t\n\r\f\v]|--[^\n\r]*(?:\n|\r|$)|/\*.*\*/)*$`),
		"sqlite":   regexp.MustCompile(`^(?s:[ \t\n\r\f\v]|\x{FEFF}|--[^\n]*(?:\n|$)|/\*.*?\*/)*$`),
	}
)

func checkTokens(t *testing.T, name string, lx *lex.Rules, sql string) {
	t.Helper()
	last := 0
	for _, tok := range lex.Tokens(lx, sql) {
		if tok.Start < last || tok.End <= tok.Start || tok.End > len(sql) {
			t.Fatalf("%s: token %v behind %d of %q", name, tok, last, sql)
		}
		if gap := sql[last:tok.Start]; !between[name].MatchString(gap) {
			t.Fatalf("%s: %q is between tokens of %q", name, gap, sql)
		}
		s := sql[tok.Start:tok.End]
		switch tok.Kind {
		case lex.Bad:
			if len(s) > 1 && tok.End != len(sql) {
				t.Fatalf("%s: bad token %q in the middle of %q", name, s, sql)
			}
		case lex.QuotedIdent, lex.String:
			open := strings.TrimLeft(s, "eEuUxXbBnN&")[0]
			if end := s[len(s)-1]; end != open && !(open == '[' && end == ']') {
				t.Fatalf("%s: token %q of %q", name, s, sql)
			}
		case lex.Word:
			if strings.ContainsAny(s, " '\"`;()") {
				t.Fatalf("%s: word %q of %q", name, s, sql)
			}
		}
		last = tok.End
	}
	if gap := sql[last:]; !between[name].MatchString(gap) {
		t.Fatalf("%s: %q is behind the last token of %q", name, gap, sql)
	}
}

// TestScannerLinear scans statements of 4 MB that would take minutes, on any machine, if any part
// of them were looked at again and again. Half a megabyte would take seconds then, so that what is
// much faster with that needs no more.
func TestScannerLinear(t *testing.T) {
	scan := func(lexRules *lex.Rules, sql string) time.Duration {
		start := time.Now()
		tokens := 0
		for s := lex.NewScanner(lexRules, sql); s.Next().Kind != lex.EOF; {
			if tokens++; tokens > len(sql) {
				t.Fatalf("more tokens than bytes: %.20q", sql)
			}
		}
		return time.Since(start)
	}
	for _, piece := range []string{
		"(", "'", "''", "\"", "`", "[", "/*", "/* ", "*/", "/*/*", "--", "-- ", "#", "$", "$$", "$a", "$a$ ", "$a$b$c", "E'\\", "U&\"", "U&", "@", "@@", "@`",
		":", ":a", "?", "\x00", "\xff", "e", "0x", "1e", "1e+", "..", "/", "*", "-", "-#", "x'", "/*!", "\n", "a b",
	} {
		for name, d := range engines {
			const short, long = 512 << 10, 4 << 20
			if scan(d.LexRules(), strings.Repeat(piece, short/len(piece))) < 200*time.Millisecond {
				continue
			}
			if took := scan(d.LexRules(), strings.Repeat(piece, long/len(piece))); took > time.Minute {
				t.Errorf("%s: %d bytes of %q took %v", name, long, piece, took)
			}
		}
	}
}
