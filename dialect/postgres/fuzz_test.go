package postgres

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// FuzzParse holds Parse to these rules: it does not panic; every span lies
// inside the text, and operands inside no more than the statement; a column
// reference's span reads, with another scanner, as the names it resolves to;
// a parameter's, number's and string's span is one token of that kind.
func FuzzParse(f *testing.F) {
	for _, c := range shapes {
		f.Add(c.text)
	}
	for _, text := range accepted {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		st, err := New().Parse(text)
		if err != nil {
			return
		}
		checkSpans(t, text, st)
	})
}

// checkSpans reads the spans of a statement back from its text.
func checkSpans(t *testing.T, text string, st *rewrite.Statement) {
	t.Helper()
	if st.Opaque != "" {
		return
	}
	inside := func(what string, s rewrite.Span) bool {
		if s.Start < 0 || s.End < s.Start || s.End > len(text) {
			t.Errorf("%s: span %v of %q", what, s, text)
			return false
		}
		return true
	}
	walk(st, func(e *rewrite.Expr) {
		if !inside("expression", e.Span) {
			return
		}
		part := text[e.Start:e.End]
		switch e.Kind {
		case rewrite.ColumnRef, rewrite.Excluded, rewrite.Star:
			var got []string
			for _, tok := range rewrite.Tokens(&lexis, part) {
				if w := part[tok.Start:tok.End]; w != "." {
					got = append(got, w)
				}
			}
			want := e.Name
			if e.Kind == rewrite.Star {
				want = append(append([]rewrite.Ident{}, want...), rewrite.Ident{Name: "*"})
			}
			if e.Kind == rewrite.Star && strings.EqualFold(part, "TABLE") { // TABLE t
				want = []rewrite.Ident{{Name: "table"}}
			}
			if e.Kind == rewrite.Excluded {
				want = append([]rewrite.Ident{{Name: "excluded"}}, want...)
			}
			if len(got) != len(want) {
				t.Errorf("%q reads as %q, not %v, in %q", part, got, want, text)
				return
			}
			for i, w := range got {
				if strings.HasPrefix(strings.ToLower(w), "u&") {
					continue
				}
				if strings.HasPrefix(w, `"`) {
					w = strings.ReplaceAll(w[1:len(w)-1], `""`, `"`)
				} else {
					w = strings.Map(lower, w)
				}
				if len(w) <= maxIdent && w != want[i].Name {
					t.Errorf("%q reads as %q, not %v, in %q", part, got, want, text)
				}
			}
		case rewrite.Param:
			if part != e.Text || part[0] != '$' {
				t.Errorf("parameter %q, text %q, in %q", part, e.Text, text)
			}
		case rewrite.Number:
			if toks := rewrite.Tokens(&lexis, part); len(toks) != 1 || toks[0].Kind != rewrite.NumberTok {
				t.Errorf("number %q in %q", part, text)
			}
		case rewrite.String:
			// A literal may go on after a line break.
			for _, tok := range rewrite.Tokens(&lexis, part) {
				if tok.Kind != rewrite.StringTok {
					t.Errorf("string %q in %q", part, text)
				}
			}
		case rewrite.Paren:
			if part[0] != '(' || part[len(part)-1] != ')' {
				t.Errorf("parentheses %q in %q", part, text)
			}
		}
	})
}

func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// walk calls f for every expression of a statement, subqueries included.
func walk(st *rewrite.Statement, f func(*rewrite.Expr)) {
	var query func(*rewrite.Select)
	var statement func(*rewrite.Statement)
	var expr func(*rewrite.Expr)
	var source func(*rewrite.Source)
	exprs := func(list []*rewrite.Expr) {
		for _, e := range list {
			expr(e)
		}
	}
	items := func(list []rewrite.Item) {
		for _, it := range list {
			expr(it.Expr)
		}
	}
	ctes := func(list []*rewrite.CTE) {
		for _, c := range list {
			query(c.Select)
			statement(c.Statement)
		}
	}
	expr = func(e *rewrite.Expr) {
		e.Walk(func(e *rewrite.Expr) bool {
			f(e)
			query(e.Query)
			return true
		})
	}
	source = func(s *rewrite.Source) {
		if s == nil {
			return
		}
		query(s.Select)
		expr(s.Func)
		source(s.Left)
		source(s.Right)
		expr(s.On)
	}
	query = func(s *rewrite.Select) {
		if s == nil {
			return
		}
		ctes(s.With)
		for _, o := range s.Operands {
			query(o)
		}
		items(s.Items)
		for _, r := range s.Values {
			exprs(r)
		}
		for _, x := range s.From {
			source(x)
		}
		exprs(append([]*rewrite.Expr{s.Where, s.Having}, s.DistinctOn...))
		exprs(s.GroupBy)
		exprs(s.Windows)
		exprs(s.OrderBy)
		exprs(s.Limit)
	}
	statement = func(st *rewrite.Statement) {
		if st == nil {
			return
		}
		query(st.Select)
		ctes(st.With)
		for _, x := range st.From {
			source(x)
		}
		for _, a := range st.Set {
			expr(a.Value)
		}
		expr(st.Where)
		items(st.Returning)
		for _, r := range st.Rows {
			exprs(r)
		}
		if c := st.Conflict; c != nil {
			expr(c.Predicate)
			expr(c.Where)
			for _, a := range c.Set {
				expr(a.Value)
			}
		}
	}
	statement(st)
}
