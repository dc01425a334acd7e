package sqlite

import (
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// from translates a FROM clause. SQLite's list is flat: a comma binds no less
// than JOIN, and an ON may refer to everything to its left. A list of commas
// alone gives one source each; any other gives one left-deep join.
func (t *translator) from(list []*tree.TableRef) []*ast.Source {
	if len(list) == 0 {
		return nil
	}
	if onlyCommas(list) {
		var out []*ast.Source
		for _, n := range list {
			out = append(out, t.source(n))
		}
		return out
	}
	return []*ast.Source{t.join(list)}
}

func onlyCommas(list []*tree.TableRef) bool {
	for _, n := range list {
		if n.Join != nil && n.Join.Type&tree.JoinComma == 0 || n.On != nil || len(n.Using) > 0 {
			return false
		}
	}
	return true
}

func (t *translator) join(list []*tree.TableRef) *ast.Source {
	left := t.source(list[0])
	if list[0].On != nil || len(list[0].Using) > 0 {
		t.opaque("ON or USING has no join")
		t.expr(list[0].On)
	}
	// A long list makes a deep tree, which every reader walks down.
	if t.depth+len(list) > maxDepth {
		t.tooDeep = true
	}
	for _, n := range list[1:] {
		j := &ast.Source{Left: left, Right: t.source(n), On: t.expr(n.On), Using: idents(n.Using)}
		kind := n.Join.Type
		j.Natural = kind&tree.JoinNatural != 0
		j.LeftOuter = kind&tree.JoinLeft != 0
		j.RightOuter = kind&tree.JoinRight != 0
		if !soundJoin(n.Join) {
			t.opaque("slotsql does not analyze join " + strings.Join(n.Join.Words, " "))
		}
		left = j
	}
	return left
}

// soundJoin reports whether SQLite accepts the join's words; its grammar takes
// any names there.
func soundJoin(op *tree.JoinOperator) bool {
	for _, w := range op.Words {
		switch strings.ToUpper(w) {
		case "NATURAL", "LEFT", "RIGHT", "FULL", "OUTER", "INNER", "CROSS", "JOIN":
		default:
			return false
		}
	}
	outer := op.Type & (tree.JoinOuter | tree.JoinLeft | tree.JoinRight)
	return op.Type&tree.JoinInner == 0 && outer != tree.JoinOuter || outer == 0
}

func (t *translator) source(n *tree.TableRef) *ast.Source {
	if t.depth++; t.depth > maxDepth || t.tooDeep {
		t.depth--
		t.tooDeep = true
		return &ast.Source{}
	}
	defer func() { t.depth-- }()

	if n.Alias != nil && sameName(n.Alias.Name, "excluded") {
		t.namedExcluded()
	}
	switch {
	case n.Select != nil:
		return &ast.Source{Select: t.query(n.Select), Alias: identOrNil(n.Alias)}
	case n.List != nil:
		s := t.join(n.List)
		if n.Alias != nil && s.Left == nil {
			t.opaque("a table in parentheses has an alias")
		} else if n.Alias != nil {
			s.Alias = identOrNil(n.Alias)
		}
		return s
	case n.HasArgs:
		return t.tableFunction(n)
	}
	// An index hint belongs to the table it names: nothing else may be put
	// in its place.
	if n.IndexedBy != nil || n.NotIndexed {
		t.st.Modifier = true
	}
	s := t.table(n.Name, n.Alias)
	if n.IndexedBy == nil && !n.NotIndexed {
		s.Ref = s.Span // an index that a query cannot use is an error
	}
	return s
}

// table translates a table's name and alias.
func (t *translator) table(name *tree.QualifiedName, alias *tree.Ident) *ast.Source {
	s := &ast.Source{Span: span(name), Name: qualified(name), Alias: identOrNil(alias)}
	if alias != nil {
		s.End = alias.End()
	}
	if sameName(name.Name.Name, "excluded") || alias != nil && sameName(alias.Name, "excluded") {
		t.namedExcluded()
	}
	return s
}

// namedExcluded gives up on a statement with a table called excluded, which
// would come before the pseudo-table of DO UPDATE.
func (t *translator) namedExcluded() { t.opaque("a table is called excluded") }

// tableFunction translates f(args). Its columns are qualified by its alias or
// else by the function's name, which becomes the alias here.
func (t *translator) tableFunction(n *tree.TableRef) *ast.Source {
	name := n.Name.Name
	f := &ast.Expr{Span: span(n.Name), Kind: ast.Call, Op: foldName(name.Name), Args: t.exprs(n.Args)}
	for _, a := range f.Args {
		f.End = max(f.End, a.End)
	}
	alias := n.Alias
	if alias == nil {
		alias = name
	}
	return &ast.Source{Func: f, Alias: identOrNil(alias), Lateral: true}
}
