package random_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/random"
	"github.com/slotsql/slotsql/integration/twin"
)

// sqlToken cuts a statement into what cannot be taken apart.
var sqlToken = regexp.MustCompile(
	"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|(?s:/\\*.*?\\*/)|--[^\\n]*\\n|#[^\\n]*\\n|[A-Za-z_][A-Za-z_0-9]*|\\$[0-9]+|[0-9.]+|::|<=>|<>|<=|>=|!=|\\|\\||\\s+|.",
)

// piece is a token with the argument that it stands for.
type piece struct {
	sql  string
	arg  any
	mark bool
}

func pieces(s random.Step) []piece {
	var list []piece
	next := 0
	for _, text := range sqlToken.FindAllString(s.SQL, -1) {
		p := piece{sql: text}
		if text == "?" || text[0] == '$' && len(text) > 1 {
			p.mark, p.arg = true, s.Args[next] // they are numbered as they come
			next++
		}
		list = append(list, p)
	}
	return list
}

func joinPieces(s random.Step, list []piece) random.Step {
	var b strings.Builder
	s.Args = nil
	for _, p := range list {
		switch {
		case !p.mark:
			b.WriteString(p.sql)
		case p.sql == "?":
			s.Args = append(s.Args, p.arg)
			b.WriteByte('?')
		default:
			s.Args = append(s.Args, p.arg)
			fmt.Fprintf(&b, "$%d", len(s.Args))
		}
	}
	s.SQL = b.String()
	return s
}

func balanced(list []piece) bool {
	depth := 0
	for _, p := range list {
		switch p.sql {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// shrink looks for the shortest query that shows the same kind of difference:
// it takes out runs of tokens, or puts a number in their place, long ones
// first. All is rolled back.
func (r *readsRun) shrink(t *testing.T, s random.Step) random.Step {
	kind := func(s random.Step) string {
		plain, wrapped := r.both(t, s, true)
		if tolerated(r.dialect, r.params, &plain, &wrapped) {
			return ""
		}
		ds := twin.Compare(plain, wrapped)
		if len(ds) == 0 {
			return ""
		}
		what, _, _ := strings.Cut(ds[0].What, " ")
		if what == "error" {
			what += twin.Class(plain.Err) + twin.Class(wrapped.Err)
		}
		return what
	}
	want := kind(s)
	if want == "" {
		return s
	}
	// Without its LIMIT a statement may leave the order open, and without ORDER BY
	// it does.
	s.Ordered = s.Ordered && !strings.HasPrefix(want, "a")
	orders := strings.Count(strings.ToUpper(s.SQL), "ORDER BY")
	end := time.Now().Add(*readsShrink)
	list := pieces(s)
	for again := true; again; {
		again = false
		for size := len(list) / 2; size > 0; size-- {
			if size > 40 {
				size = size * 3 / 4
			}
			for from := 0; from+size <= len(list); from++ {
				if time.Now().After(end) {
					return joinPieces(s, list)
				}
				if !balanced(list[from : from+size]) {
					continue
				}
				for _, by := range []string{"", "1"} {
					if by == list[from].sql || by == "1" && strings.TrimSpace(list[from].sql) == "" {
						continue
					}
					try := append([]piece(nil), list[:from]...)
					if by != "" {
						try = append(try, piece{sql: by})
					}
					try = append(try, list[from+size:]...)
					if by != "" && size == 1 && (list[from].mark || list[from].sql[0] >= '0' && list[from].sql[0] <= '9') {
						continue
					}
					step := joinPieces(s, try)
					if s.Ordered && strings.Count(strings.ToUpper(step.SQL), "ORDER BY") < orders {
						continue
					}
					if kind(step) == want {
						list, again = try, true
						from--
						break
					}
				}
			}
		}
	}
	return joinPieces(s, list)
}
