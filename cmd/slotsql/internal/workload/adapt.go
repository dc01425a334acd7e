package workload

import (
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// foreign are placeholders as drivers and tools of other languages write them:
// ?, ?1, :name, :1, @name, $1, $name, %s, %(name)s, #{name}, ${name}, {name}.
var foreign = regexp.MustCompile(
	`#\{[^{}\n]*\}|\$\{[^{}\n]*\}|\{\w*\}|%\(\w+\)[a-z]|%[sdvifu]\b|\?\d*|:[A-Za-z_]\w*|:\d+|\$\d+|\$[A-Za-z_]\w*|@[A-Za-z_]\w*`,
)

var mybatis = regexp.MustCompile(`#\{[^{}\n']*\}`)

// certain are placeholders of others that a parser takes for something else:
// $1 is a name on MySQL, @name and ?1 are operators on PostgreSQL. No one
// writes them in SQL of these dialects.
var (
	numbered = regexp.MustCompile(`\$\d+\b`)
	atNamed  = regexp.MustCompile(`(?:^|[^@\w])@[A-Za-z_]\w*|\?\d`)
)

// Adapt returns a statement whose placeholders are the dialect's own. A statement that
// the dialect's parser takes as it is meant is left as it is, and so is one that
// it does not take without foreign placeholders either.
func Adapt(d rewrite.Dialect, sql string) string {
	lx := d.LexRules()
	other := lx.DollarParam && atNamed.MatchString(sql) || !lx.DollarParam && !lx.NamedParam && numbered.MatchString(sql)
	if !other {
		if _, err := d.Parse(sql); err == nil {
			return sql
		}
	}
	changed := replace(d, sql)
	if changed == sql {
		return sql
	}
	if _, err := d.Parse(changed); err != nil {
		return sql
	}
	return changed
}

// replace writes the dialect's placeholders wherever a foreign one stands
// outside strings, quoted names and comments.
func replace(d rewrite.Dialect, sql string) string {
	if d.LexRules().HashComment {
		sql = mybatis.ReplaceAllString(sql, "?") // before # begins a comment
	}
	var b strings.Builder
	n, last := 0, 0
	names := map[string]int{}
	for _, sp := range foreign.FindAllStringIndex(mask(d.LexRules(), sql), -1) {
		token := sql[sp[0]:sp[1]]
		if sp[0] > 0 && (sql[sp[0]-1] == ':' || sql[sp[0]-1] == '@') {
			continue // a cast, a variable of the system
		}
		at, seen := names[token]
		if !seen || token == "?" || token[0] == '%' && !strings.HasPrefix(token, "%(") || token == "{}" {
			n++
			at = n
			names[token] = at
		}
		b.WriteString(sql[last:sp[0]])
		b.WriteString(d.Placeholder(at))
		last = sp[1]
	}
	b.WriteString(sql[last:])
	return b.String()
}

// mask puts blanks in the place of everything but code, byte by byte.
func mask(lx *lex.Rules, sql string) string {
	out := []byte(strings.Repeat(" ", len(sql)))
	for _, t := range lex.Tokens(lx, sql) {
		switch t.Kind {
		case lex.String, lex.QuotedIdent, lex.Number:
		case lex.Bad:
			if t.End-t.Start > 1 && t.End == len(sql) && strings.ContainsAny(sql[t.Start:t.Start+1], "'\"`") {
				break // a quote that does not end
			}
			fallthrough
		default:
			copy(out[t.Start:t.End], sql[t.Start:t.End])
		}
	}
	// A placeholder's number or name is a token of its own where the dialect
	// does not know the placeholder.
	for i := 1; i < len(out); i++ {
		if out[i] == ' ' && isDigit(sql[i]) && strings.IndexByte("?:$", sql[i-1]) >= 0 && out[i-1] != ' ' {
			for j := i; j < len(sql) && isDigit(sql[j]); j++ {
				out[j] = sql[j]
			}
		}
	}
	return string(out)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
