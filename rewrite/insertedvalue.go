package rewrite

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A slotted upsert does not use the row that the application's INSERT proposes.
// The engine would have checked that row before it found the conflict: a value
// that does not fit its column, a NULL in a column that is never NULL, or a CHECK
// fails the statement although the row exists. So a slotted upsert is only made if
// every inserted value certainly fits. Arguments are checked when they are bound.

// InsertedArg is an argument that an INSERT has for a column, and what the
// column accepts.
type InsertedArg struct {
	Arg      Arg
	Nullable bool
	Integer  bool // low..high
	Low      int64
	High     uint64
	Length   int  // of a string, in characters; 0 means that the column takes none
	ASCII    bool // its text may have to be of ASCII characters
	Time     bool
	TimeText bool // of a time, that it may come as text
	Number   bool // any number, or a boolean
	JSON     bool
}

// Takes reports whether the column certainly takes a string.
func (g InsertedArg) Takes(s string) bool {
	if g.TimeText {
		return timeText(s)
	}
	if g.JSON && !jsonText(s) {
		return false
	}
	if g.Length == 0 || len(s) > g.Length && utf8.RuneCountInString(s) > g.Length || !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return false
	}
	for i := 0; g.ASCII && i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// jsonText reports whether every engine reads s as JSON: its numbers and its depth are moderate, and it escapes no character by its code.
func jsonText(s string) bool {
	return json.Valid([]byte(s)) && !strings.Contains(s, `\u`) && !exponent.MatchString(s) && strings.Count(s, "[")+strings.Count(s, "{") < 1000
}

var exponent = regexp.MustCompile(`[0-9][eE]`)

// timeText reports whether every engine reads s as a time, whatever the session's
// settings, and one that every type of time holds.
func timeText(s string) bool {
	const form = "0000-00-00 00:00:00.000000"
	if len(s) != len("0000-00-00") && (len(s) < len("0000-00-00 00:00:00") || len(s) > len(form) || s[len(s)-1] == '.') {
		return false
	}
	for i := range len(s) {
		if digit := s[i] >= '0' && s[i] <= '9'; form[i] == '0' && !digit || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	if year <= 1970 || year >= 2038 || month < 1 || month > 12 || day < 1 || day > monthDays(year, month) {
		return false
	}
	return len(s) == len("0000-00-00") || two(11) < 24 && two(14) < 60 && two(17) < 60
}

// monthDays is right for the years that timeText takes.
func monthDays(year, month int) int {
	switch {
	case month == 2 && year%4 == 0:
		return 29
	case month == 2:
		return 28
	case month == 4, month == 6, month == 9, month == 11:
		return 30
	}
	return 31
}

func (cs *constants) takes(c *schema.Column) InsertedArg {
	g := InsertedArg{Nullable: c.Nullable}
	typ := strings.ToLower(c.Type)
	switch {
	case c.Numeric == schema.Integer && c.Bits <= 0:
	case c.Numeric == schema.Integer && c.Unsigned:
		g.Integer, g.High = true, math.MaxUint64>>(64-uint(c.Bits))
	case c.Numeric == schema.Integer:
		g.Integer, g.Low, g.High = true, -1<<(c.Bits-1), 1<<(c.Bits-1)-1
	case strings.HasPrefix(typ, "timestamp"), strings.HasPrefix(typ, "datetime"):
		// MySQL's TIMESTAMP refuses the hour that summer time leaves out.
		g.Time = true
		g.TimeText = strings.HasPrefix(typ, "datetime") || strings.Contains(typ, "time zone") || cs.d.Traits().AnyType
	case typ == "date":
		g.Time, g.TimeText = true, true
	case strings.HasPrefix(typ, "varchar"), strings.HasPrefix(typ, "char("), strings.HasPrefix(typ, "character"):
		g.Length = 16000
		if _, rest, ok := strings.Cut(typ, "("); ok {
			n, _, _ := strings.Cut(rest, ")")
			g.Length, _ = strconv.Atoi(n)
		}
	case strings.HasPrefix(typ, "tinytext"):
		g.Length = 63
	case strings.HasPrefix(typ, "text"), strings.HasPrefix(typ, "mediumtext"), strings.HasPrefix(typ, "longtext"):
		g.Length = 16000
	}
	g.ASCII = cs.d.LexRules().Foreign || strings.Contains(typ, "character set") && !strings.Contains(typ, "utf8mb4")
	return g
}

// checkInserted checks the value that an INSERT has for a column. It returns the argument that has to
// be checked when it is bound, if it is one; why names a value that may not fit.
func (cs *constants) checkInserted(c *schema.Column, e *ast.Expr) (arg *InsertedArg, why string) {
	g := cs.takes(c)
	no := "the value given for column " + c.Name + " may not fit it"
	for e != nil && e.Kind == ast.Paren {
		e = e.Args[0]
	}
	if e != nil && g.Integer && (!c.Unsigned || c.Bits < 64) { // CAST AS SIGNED makes the greatest ones negative
		if x, bits := cs.castNumber(e); x != nil && (bits != 32 || c.Bits <= 32) {
			e = ast.Unparen(x)
		}
	}
	switch {
	case e == nil: // DEFAULT
		if c.Nullable || c.HasDefault || c.Identity || c.Generated {
			return nil, ""
		}
	case c.Generated:
	case e.Kind == ast.Null && c.Nullable:
		return nil, ""
	case e.Kind == ast.String && g.Takes(cs.notedText(g, e.Text)):
		return nil, ""
	case e.Kind == ast.Param && (g.Integer || g.Time || g.Length > 0):
		a, ok := cs.src.paramAt(e.Span)
		g.Arg = a
		if ok {
			return &g, ""
		}
	default:
		if ok, shifted := cs.clockTime(e); ok && (g.Time && (g.TimeText || !shifted) || cs.d.Traits().AnyType && g.Length > 0) {
			return nil, ""
		}
		d, ok := cs.simpleDelta([]operand{{expr: e}})
		if e.Kind == ast.String && (g.Integer || c.Numeric == schema.Decimal) {
			d, ok = cs.spelled(e, false)
		}
		if !ok || d.literal == "" {
			break
		}
		cs.noteInserted(g, c, d.literal)
		whole, frac, _ := strings.Cut(strings.TrimPrefix(d.literal, "-"), ".")
		n, err := strconv.ParseUint("0"+whole, 10, 63)
		negative := strings.HasPrefix(d.literal, "-")
		switch {
		case err != nil:
		case g.Integer && frac == "" && (negative && -int64(n) >= g.Low || !negative && n <= g.High):
			return nil, ""
		case c.Numeric == schema.Decimal && len(frac) <= c.Scale && len(strings.TrimLeft(whole, "0")) <= c.Precision-c.Scale && !(negative && c.Unsigned):
			return nil, ""
		}
	}
	return nil, no
}

// noteInserted records that a decision depends on an inserted number, if it may be beyond what the
// column accepts.
func (cs *constants) noteInserted(g InsertedArg, c *schema.Column, literal string) {
	switch {
	case cs.sentinels == nil:
	case g.Integer:
		cs.sentinels.noteAbove(literal, int64(min(g.High, math.MaxInt64)))
		if g.Low < 0 {
			cs.sentinels.noteAbove(literal, -(g.Low + 1))
		}
	default:
		cs.sentinels.noteBehind(literal, c.Scale)
		cs.sentinels.noteAbove(literal, pow10(max(0, min(c.Precision-c.Scale, 18)))-1)
	}
}

// notedText records that a decision depends on an inserted string, unless the outcome is the same for
// all short strings of ASCII characters, and returns it.
func (cs *constants) notedText(g InsertedArg, s string) string {
	if !g.TimeText && (g.Length == 0 || g.Length >= lex.MaxShort) && cs.sentinels.short(s) {
		return s
	}
	return cs.noted(s)
}
