package sqlite

import (
	"errors"
	"fmt"
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"
	"github.com/sqlc-dev/meyer/parser"

	"github.com/slotsql/slotsql/rewrite/ast"
)

const (
	// maxSQL bounds what is parsed at all; SQLite's own limit is 1 GB.
	maxSQL = 1 << 20
	// maxDepth bounds the nesting that is translated. SQLite refuses
	// expressions deeper than 1000 by default.
	maxDepth = 2000
)

var (
	errTooLong = fmt.Errorf("sqlite: statement is longer than %d bytes", maxSQL)
	errTooDeep = fmt.Errorf("sqlite: statement nests deeper than %d levels", maxDepth)
	errNUL     = errors.New("sqlite: statement contains a NUL byte")
)

// Parse translates one statement.
func (*Dialect) Parse(sql string) (st *ast.Statement, err error) {
	node, err := parseOne(sql)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			st, err = nil, fmt.Errorf("sqlite: translating the statement failed: %v", r)
		}
	}()
	t := &translator{sql: sql, st: &ast.Statement{}}
	t.statement(node)
	if t.tooDeep {
		return nil, errTooDeep
	}
	t.check(node)
	return t.st, nil
}

// parseOne runs the parser within bounds. A NUL byte ends a statement for SQLite,
// and what stands behind it is ignored; such a statement is refused.
func parseOne(sql string) (node tree.Stmt, err error) {
	if len(sql) > maxSQL {
		return nil, errTooLong
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, errNUL
	}
	depth := 0
	for i := 0; i < len(sql); i++ {
		switch sql[i] {
		case '(':
			if depth++; depth > maxDepth {
				return nil, errTooDeep
			}
		case ')':
			depth--
		}
	}
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, fmt.Errorf("sqlite: the parser failed: %v", r)
		}
	}()
	return parser.ParseStatement(sql)
}

// A translator turns one parsed statement into the neutral form.
type translator struct {
	sql     string
	st      *ast.Statement
	depth   int
	tooDeep bool

	// rules counts the COLLATE and CAST met so far: a comparison that
	// contains one does not compare as its column does.
	rules int
	// upsert reports whether names are resolved in DO UPDATE, where excluded.c is
	// the row proposed for insertion.
	upsert bool
}

// opaque keeps the first reason.
func (t *translator) opaque(reason string) {
	if t.st.Opaque == "" {
		t.st.Opaque = reason
	}
}

func (t *translator) statement(n tree.Stmt) {
	switch n := n.(type) {
	case *tree.SelectStmt:
		t.st.Kind = ast.KindSelect
		t.st.Select = t.query(n)
	case *tree.InsertStmt:
		t.insert(n)
	case *tree.UpdateStmt:
		t.update(n)
	case *tree.DeleteStmt:
		t.remove(n)
	case *tree.ExplainStmt:
		t.st.Kind = ast.KindExplain
	case *tree.CreateTableStmt:
		t.createTable(n)
	case *tree.DropTableStmt:
		t.st.Kind = ast.KindDrop
		t.st.Tables = [][]ast.Ident{qualified(n.Name)}
	case *tree.PragmaStmt, *tree.AttachStmt, *tree.DetachStmt, *tree.BeginStmt, *tree.CommitStmt,
		*tree.RollbackStmt, *tree.SavepointStmt, *tree.ReleaseStmt:
		t.st.Kind = ast.KindSession
	case *tree.CreateIndexStmt, *tree.CreateViewStmt, *tree.CreateTriggerStmt, *tree.CreateVirtualTableStmt,
		*tree.AlterTableStmt, *tree.DropViewStmt, *tree.DropIndexStmt, *tree.DropTriggerStmt,
		*tree.VacuumStmt, *tree.AnalyzeStmt, *tree.ReindexStmt:
		t.st.Kind = ast.KindDDL
		t.st.Tables = tablesOf(n)
	default:
		t.st.Tables = tablesOf(n)
	}
}

func (t *translator) createTable(n *tree.CreateTableStmt) {
	t.st.Tables = [][]ast.Ident{qualified(n.Name)}
	if n.Select != nil {
		t.st.Kind = ast.KindCreateSelect
		t.st.Select = t.query(n.Select)
		return
	}
	t.st.Kind = ast.KindDDL
	t.st.Tables = tablesOf(n)
}

// tablesOf lists every name in n that may be a table's. Names of indexes and
// triggers come along; they name no configured table.
func tablesOf(n tree.Node) [][]ast.Ident {
	var out [][]ast.Ident
	each(n, func(n tree.Node) {
		switch n := n.(type) {
		case *tree.QualifiedName:
			out = append(out, qualified(n))
		case *tree.CreateIndexStmt:
			name := []ast.Ident{ident(n.Table)}
			if n.Name.Schema != nil {
				name = []ast.Ident{ident(n.Name.Schema), ident(n.Table)}
			}
			out = append(out, name)
		case *tree.ForeignKeyClause:
			out = append(out, []ast.Ident{ident(n.Table)})
		}
	})
	return out
}

// each visits n and all nodes below it, in no particular order and without
// recursion, so that depth costs no stack.
func each(n tree.Node, f func(tree.Node)) {
	stack := []tree.Node{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		f(n)
		stack = append(stack, n.Children()...)
	}
}

func span(n tree.Node) ast.Span { return ast.Span{Start: n.Pos(), End: n.End()} }

func ident(n *tree.Ident) ast.Ident {
	return ast.Ident{Name: n.Name, Quoted: n.Quote != tree.QuoteNone}
}

func identOrNil(n *tree.Ident) *ast.Ident {
	if n == nil {
		return nil
	}
	id := ident(n)
	return &id
}

func idents(list []*tree.Ident) []ast.Ident {
	var out []ast.Ident
	for _, n := range list {
		out = append(out, ident(n))
	}
	return out
}

func qualified(n *tree.QualifiedName) []ast.Ident {
	if n.Schema != nil {
		return []ast.Ident{ident(n.Schema), ident(n.Name)}
	}
	return []ast.Ident{ident(n.Name)}
}
