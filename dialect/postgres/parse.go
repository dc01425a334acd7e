package postgres

import (
	"errors"
	"fmt"

	tree "github.com/sqlc-dev/oliphant/ast"
	"github.com/sqlc-dev/oliphant/parser"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// Parse translates one statement. Names in the result are as the server
// resolves them (folded, cut to 63 bytes, escapes replaced), so that two
// idents of one statement compare byte for byte.
func (d *Dialect) Parse(sql string) (st *ast.Statement, err error) {
	defer func() {
		if p := recover(); p != nil {
			st, err = nil, fmt.Errorf("parser failed: %v", p)
		}
	}()
	node, toks, have, err := parse(sql)
	if err != nil {
		return nil, err
	}
	t := &translator{sql: sql, tok: toks}
	all := rng{0, len(toks)}
	for all.hi > 0 && t.is(all.hi-1, ';') {
		all.hi--
	}
	st = t.statement(node, all)
	t.verify(st, have)
	if st.Opaque == "" {
		st.Opaque = t.opaque
	}
	return st, nil
}

// ParseTree parses one statement within the same bounds, into the parser's own tree.
func ParseTree(sql string) (node *tree.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			node, err = nil, fmt.Errorf("parser failed: %v", p)
		}
	}()
	node, _, _, err = parse(sql)
	return node, err
}

// parse runs the parser, which may panic.
func parse(sql string) (*tree.Node, []token, census, error) {
	toks, err := scan(sql)
	if err != nil {
		return nil, nil, census{}, err
	}
	parsed, err := parser.ParseToTree(sql)
	if err != nil {
		return nil, nil, census{}, err
	}
	if len(parsed.Stmts) != 1 || parsed.Stmts[0].Stmt == nil {
		return nil, nil, census{}, errors.New("not exactly one statement")
	}
	node := parsed.Stmts[0].Stmt
	have, err := count(node)
	return node, toks, have, err
}

// translator carries one statement from the parser's tree to the neutral
// form. The tree has start offsets only and drops parentheses, so the
// translation goes down the tree with the run of tokens that each node is
// written with: a node's own anchor (its operator, its keyword, its brackets)
// cuts its run into those of its operands.
type translator struct {
	sql string
	tok []token

	// opaque is the first reason why the result is not faithful.
	opaque string
	// upsert reports whether the translation is inside ON CONFLICT DO UPDATE, where
	// excluded is a table.
	upsert bool
}

func (t *translator) giveUp(reason string) {
	if t.opaque == "" {
		t.opaque = reason
	}
}

// statement translates a statement written in r.
func (t *translator) statement(n *tree.Node, r rng) *ast.Statement {
	switch v := n.Node.(type) {
	case *tree.Node_SelectStmt:
		st := &ast.Statement{Kind: ast.KindSelect, Select: t.query(v.SelectStmt, r)}
		if rel := into(v.SelectStmt); rel != nil {
			st.Kind, st.Tables = ast.KindCreateSelect, tableName(rel)
		}
		return st
	case *tree.Node_InsertStmt:
		return t.insert(v.InsertStmt, r)
	case *tree.Node_UpdateStmt:
		return t.update(v.UpdateStmt, r)
	case *tree.Node_DeleteStmt:
		return t.delete(v.DeleteStmt, r)
	}
	return t.utility(n, r)
}

// into is the table that SELECT ... INTO makes, or nil.
func into(s *tree.SelectStmt) *tree.RangeVar {
	for s != nil {
		if s.IntoClause != nil {
			return s.IntoClause.Rel
		}
		s = s.Larg
	}
	return nil
}

func tableName(v *tree.RangeVar) [][]ast.Ident {
	var parts []ast.Ident
	for _, p := range []string{v.GetCatalogname(), v.GetSchemaname(), v.GetRelname()} {
		if p != "" {
			parts = append(parts, name(p))
		}
	}
	return [][]ast.Ident{parts}
}

// name is a name that the tree gives without its place in the statement. Whether
// it stood in quotes makes no difference unless it needs them.
func name(s string) ast.Ident { return ast.Ident{Name: s, Quoted: s != fold(s)} }

func idents(nodes []*tree.Node) []ast.Ident {
	var out []ast.Ident
	for _, n := range nodes {
		out = append(out, name(n.GetString_().GetSval()))
	}
	return out
}
