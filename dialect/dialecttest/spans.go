package dialecttest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// Spans reads the spans of a statement back from its SQL, with the token scanner,
// which shares no code with a parser: each lies inside the statement; that of a column
// reads as its name; of a number, a string or a placeholder it is one of that kind;
// a pair of parentheses is not cut; and the tree has every placeholder of the statement.
// A fuzz target judges by it.
func Spans(t *testing.T, d dialect.Dialect, sql string, st *ast.Statement) {
	t.Helper()
	if st.Opaque != "" {
		return
	}
	params := map[int]bool{}
	Each(st, func(e *ast.Expr) {
		if e.Start < 0 || e.End < e.Start || e.End > len(sql) {
			t.Errorf("span %v of %q", e.Span, sql)
			return
		}
		part := sql[e.Start:e.End]
		if wrong := misread(d, e, part); wrong != "" {
			t.Errorf("%s: %q in %q", wrong, part, sql)
		}
		if e.Kind == ast.Param {
			params[e.Start] = true
		}
	}, func(s *ast.Source) {
		if s.Start < 0 || s.End < s.Start || s.End > len(sql) {
			t.Errorf("span %v of a source in %q", s.Span, sql)
		}
	})
	switch st.Kind {
	case ast.KindSelect, ast.KindInsert, ast.KindUpdate, ast.KindDelete:
		for _, tok := range lex.Tokens(d.LexRules(), sql) {
			if tok.Kind == lex.Param && !params[tok.Start] {
				t.Errorf("the placeholder at %d is lost: %q", tok.Start, sql)
			}
		}
	}
}

// misread says what is wrong with the SQL of an expression.
func misread(d dialect.Dialect, e *ast.Expr, part string) string {
	toks := lex.Tokens(d.LexRules(), part)
	kinds := func(kind lex.Kind) bool {
		for _, tok := range toks {
			if tok.Kind != kind {
				return false
			}
		}
		return len(toks) > 0
	}
	switch e.Kind {
	case ast.ColumnRef, ast.Star:
		return misnamed(d, e, part, toks)
	case ast.Param:
		if len(toks) != 1 || !kinds(lex.Param) || part != e.Text {
			return "no placeholder"
		}
	case ast.Number:
		if len(toks) != 1 || !kinds(lex.Number) {
			return "no number"
		}
	case ast.String:
		if !kinds(lex.String) { // one may go on after a line break
			return "no string"
		}
	case ast.Paren:
		if !strings.HasPrefix(part, "(") || !strings.HasSuffix(part, ")") {
			return "no parentheses"
		}
	case ast.Binary:
		depth := 0
		for _, tok := range toks {
			switch part[tok.Start:tok.End] {
			case "(":
				depth++
			case ")":
				depth--
			}
		}
		if depth != 0 {
			return "cut"
		}
	}
	return ""
}

// misnamed says what is wrong with the name of a column. The case of letters is for
// the engine, and so is a name that it cuts.
func misnamed(d dialect.Dialect, e *ast.Expr, part string, toks []lex.Token) string {
	if e.Kind == ast.Star && strings.EqualFold(part, "TABLE") { // TABLE t
		return ""
	}
	var got []string
	for _, tok := range toks {
		w := part[tok.Start:tok.End]
		switch {
		case tok.Kind == lex.QuotedIdent && strings.HasPrefix(strings.ToLower(w), "u&"):
			return ""
		case tok.Kind == lex.QuotedIdent:
			end := w[len(w)-1:]
			got = append(got, strings.ReplaceAll(w[1:len(w)-1], end+end, end))
		case w != "." && w != "*":
			got = append(got, w)
		}
	}
	if len(got) != len(e.Name) {
		return "another name"
	}
	rules := d.NameRules()
	for i, w := range got {
		if !strings.EqualFold(w, e.Name[i].Name) && !rules.TooLong(w) {
			return "another name than " + e.Name[i].Name
		}
	}
	return ""
}

// Each calls the functions for every expression and source of a statement, without
// the walk that the translators are checked by (ast.Visitor).
func Each(st *ast.Statement, expr func(*ast.Expr), source func(*ast.Source)) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				return
			}
			switch x := v.Interface().(type) {
			case *ast.Expr:
				expr(x)
			case *ast.Source:
				source(x)
			case *ast.Case:
				return // its expressions are among the operands
			}
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(st))
}
