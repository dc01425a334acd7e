package postgres

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	pgquery "github.com/sqlc-dev/oliphant"
	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// Limits of what Parse looks at. The parser takes quadratic time in nested
// parentheses, and both it and the translation recurse.
const (
	maxSQL     = 1 << 20
	maxNesting = 200
	maxDepth   = 4000
)

// token is one token of the server's own grammar, comments left out.
type token struct {
	kind       tree.Token
	start, end int
	// match is the index of the closing token of a bracket or CASE, and of
	// the opening one of its end; -1 for every other token.
	match int
}

// rng is a run of tokens [lo, hi).
type rng struct{ lo, hi int }

// scan cuts sql into tokens and pairs the brackets.
func scan(sql string) ([]token, error) {
	if len(sql) > maxSQL {
		return nil, fmt.Errorf("statement of %d bytes is longer than the limit of %d bytes", len(sql), maxSQL)
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, errors.New("statement contains a NUL byte")
	}
	res, err := pgquery.Scan(sql)
	if err != nil {
		return nil, err
	}
	toks := make([]token, 0, len(res.Tokens))
	var open []int
	prefix := 0
	for _, tk := range res.Tokens {
		if tk.Token == tree.Token_SQL_COMMENT || tk.Token == tree.Token_C_COMMENT {
			continue
		}
		i := len(toks)
		toks = append(toks, token{tk.Token, int(tk.Start), int(tk.End), -1})
		label := i > 0 && (toks[i-1].kind == tree.Token_AS || toks[i-1].kind == '.')
		switch {
		case tk.Token == '(' || tk.Token == '[' || tk.Token == tree.Token_CASE && !label:
			open = append(open, i)
			if len(open) > maxNesting {
				return nil, fmt.Errorf("brackets nest deeper than %d", maxNesting)
			}
		case tk.Token == ')' || tk.Token == ']' || tk.Token == tree.Token_END_P && !label:
			if n := len(open); n > 0 && closes(toks[open[n-1]].kind, tk.Token) {
				toks[i].match, toks[open[n-1]].match = open[n-1], i
				open = open[:n-1]
			}
		}
		// A run of prefix operators recurses in the parser like brackets do.
		if isPrefix(tk.Token) {
			if prefix++; prefix > maxNesting {
				return nil, fmt.Errorf("more than %d operators in a row", maxNesting)
			}
		} else {
			prefix = 0
		}
	}
	return toks, nil
}

func closes(open, end tree.Token) bool {
	switch open {
	case '(':
		return end == ')'
	case '[':
		return end == ']'
	}
	return end == tree.Token_END_P
}

func isPrefix(k tree.Token) bool {
	switch k {
	case tree.Token_NOT, tree.Token_Op, '+', '-':
		return true
	}
	return false
}

// index finds the token that starts at that byte, or -1.
func (t *translator) index(offset int32) int {
	if offset < 0 {
		return -1
	}
	i := sort.Search(len(t.tok), func(i int) bool { return t.tok[i].start >= int(offset) })
	if i < len(t.tok) && t.tok[i].start == int(offset) {
		return i
	}
	return -1
}

func (t *translator) is(i int, k tree.Token) bool {
	return i >= 0 && i < len(t.tok) && t.tok[i].kind == k
}

func (t *translator) word(i int) string { return t.sql[t.tok[i].start:t.tok[i].end] }

// next steps over the token at i, or over the whole bracket that opens there.
func (t *translator) next(i int) int {
	if m := t.tok[i].match; m > i {
		return m + 1
	}
	return i + 1
}

// find returns the first token of that kind in r outside brackets, or -1.
func (t *translator) find(r rng, k tree.Token) int {
	for i := r.lo; i < r.hi; i = t.next(i) {
		if t.tok[i].kind == k && !t.label(i) {
			return i
		}
	}
	return -1
}

// label reports whether token i stands where any keyword is a plain name.
func (t *translator) label(i int) bool {
	return t.is(i-1, tree.Token_AS) || t.is(i-1, '.')
}

// split cuts r at the commas outside brackets.
func (t *translator) split(r rng) []rng {
	if r.lo >= r.hi {
		return nil
	}
	var out []rng
	lo := r.lo
	for i := r.lo; i < r.hi; i = t.next(i) {
		if t.tok[i].kind == ',' {
			out = append(out, rng{lo, i})
			lo = i + 1
		}
	}
	return append(out, rng{lo, r.hi})
}

// wrapped reports whether one pair of parentheses encloses all of r.
func (t *translator) wrapped(r rng) bool {
	return r.hi-r.lo >= 2 && t.is(r.lo, '(') && t.tok[r.lo].match == r.hi-1
}

func (t *translator) span(r rng) ast.Span {
	if r.lo < 0 || r.lo >= r.hi || r.hi > len(t.tok) {
		return ast.Span{}
	}
	return ast.Span{Start: t.tok[r.lo].start, End: t.tok[r.hi-1].end}
}
