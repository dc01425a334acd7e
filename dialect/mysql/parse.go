package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	tree "github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// Bounds on what is parsed. Trees are walked recursively, so their depth is
// what matters: maxNesting bounds parentheses, maxChain the tokens that stand
// on one path of the tree (a + a + a ... is as deep as it is long).
const (
	maxSQL     = 1 << 20
	maxNesting = 200
	maxChain   = 20000
)

// Sentinels for statements that are never given to the parser.
var (
	ErrTooLarge    = errors.New("statement is too large or too deeply nested to parse")
	ErrExecComment = errors.New("executable comments (/*! ... */, /*M! ... */) hold code that depends on the server's version")
	ErrLexical     = errors.New("statement has an unterminated quote or comment")
)

// A parser is not safe for concurrent use, and reuses its result slice.
var parsers = sync.Pool{New: func() any { return parser.New() }}

// Parse translates one statement. See [rewrite.Dialect].
func (d *Dialect) Parse(sql string) (st *ast.Statement, err error) {
	toks, err := d.tokens(sql)
	if err != nil {
		return nil, err
	}
	// The grammar's semantic actions panic on some inputs; such a parser is
	// not put back.
	defer func() {
		if r := recover(); r != nil {
			st, err = nil, fmt.Errorf("parser failed: %v", r)
		}
	}()
	if i := returning(sql, toks); i > 0 {
		return d.parseReturning(sql, toks, i)
	}
	return d.parseTokens(sql, toks)
}

// tokens returns the tokens of a statement that may be given to the parser.
func (d *Dialect) tokens(sql string) ([]lex.Token, error) {
	if len(sql) > maxSQL {
		return nil, ErrTooLarge
	}
	if err := d.settings.readable(sql); err != nil {
		return nil, err
	}
	toks, err := d.lex(sql)
	if err != nil {
		return nil, err
	}
	return toks, bounded(sql, toks)
}

func (d *Dialect) parseTokens(sql string, toks []lex.Token) (*ast.Statement, error) {
	t := &translator{sql: sql, toks: toks}
	node, err := d.parseTree(t)
	if err != nil {
		return nil, err
	}
	return t.statement(node), nil
}

// parseTree parses the translator's statement, and notes which of its words the parser has seen as others.
func (d *Dialect) parseTree(t *translator) (tree.StmtNode, error) {
	p := parsers.Get().(*parser.Parser)
	p.SetSQLMode(d.settings.parserMode())
	nodes, _, err := p.ParseSQL(t.sql)
	if err != nil && d.MariaDB {
		var changed string
		if changed, t.words = unreserved(t.sql, t.toks); t.words != nil {
			if again, _, rejected := p.ParseSQL(changed); rejected == nil {
				nodes, err = again, nil
			}
		}
	}
	var node tree.StmtNode
	switch {
	case err != nil:
	case len(nodes) != 1:
		err = fmt.Errorf("want one statement, got %d", len(nodes))
	default:
		node = nodes[0]
	}
	parsers.Put(p)
	return node, err
}

// ParseTree parses one statement as Parse does, into the parser's own tree.
func (d *Dialect) ParseTree(sql string) (node tree.StmtNode, err error) {
	toks, err := d.tokens(sql)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, fmt.Errorf("parser failed: %v", r)
		}
	}()
	return d.parseTree(&translator{sql: sql, toks: toks})
}

// lex cuts the statement into tokens and runs of operator characters into
// operators.
func (d *Dialect) lex(sql string) ([]lex.Token, error) {
	s := lex.NewScanner(d.LexRules(), sql)
	out := make([]lex.Token, 0, len(sql)/5+4)
	for {
		t := s.Next()
		switch t.Kind {
		case lex.EOF:
			if s.Exec {
				return nil, ErrExecComment
			}
			if n := len(out); n > 0 && sql[out[n-1].Start:out[n-1].End] == ";" {
				out = out[:n-1]
			}
			return out, nil
		case lex.Bad:
			return nil, ErrLexical
		case lex.Operator:
			out = splitOperator(out, sql, t)
		default:
			out = append(out, t)
		}
	}
}

var operators = [...]string{"<=>", "->>", "->", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&", ":="}

func splitOperator(out []lex.Token, sql string, t lex.Token) []lex.Token {
	for pos := t.Start; pos < t.End; {
		n := 1
		for _, op := range operators {
			if strings.HasPrefix(sql[pos:t.End], op) {
				n = len(op)
				break
			}
		}
		out = append(out, lex.Token{Kind: lex.Operator, Span: lex.Span{Start: pos, End: pos + n}})
		pos += n
	}
	return out
}

// bounded estimates the depth of the tree from above.
func bounded(sql string, toks []lex.Token) error {
	type level struct{ run, child, max int }
	stack := make([]level, 1, 16)
	for _, t := range toks {
		l := &stack[len(stack)-1]
		c := byte(0)
		if t.Kind == lex.Operator {
			c = sql[t.Start]
		}
		switch c {
		case '(':
			if len(stack) > maxNesting {
				return ErrTooLarge
			}
			stack = append(stack, level{})
		case ')':
			deep := max(l.max, l.run+l.child) + 1
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
				l = &stack[len(stack)-1]
				l.child = max(l.child, deep)
			}
		case ',':
			l.max = max(l.max, l.run+l.child)
			l.run, l.child = 0, 0
		default:
			l.run++
		}
		if l.run+l.child > maxChain {
			return ErrTooLarge
		}
	}
	return nil
}
