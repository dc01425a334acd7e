package mysql

import (
	"fmt"

	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// sources passes a FROM list: top-level commas are separate entries.
func (t *translator) sources(j *tree.Join) []*ast.Source {
	if t.failed() || j == nil {
		return nil
	}
	if comma(j) && !j.ExplicitParens {
		// A comma and a join without condition have the same node; the
		// token behind the left side tells them apart.
		left, ok := j.Left.(*tree.Join)
		var out []*ast.Source
		if ok {
			out = t.sources(left)
		} else {
			out = []*ast.Source{t.source(j.Left)}
		}
		if t.acceptOp(",") {
			return append(out, t.source(j.Right))
		}
		if len(out) == 0 {
			t.mismatch("a table")
			return out
		}
		s := &ast.Source{Left: out[len(out)-1]}
		t.joinRight(s, j)
		return append(out[:len(out)-1], s)
	}
	return []*ast.Source{t.source(j)}
}

func comma(j *tree.Join) bool {
	return j.Right != nil && j.Tp == tree.CrossJoin && j.On == nil && len(j.Using) == 0 && !j.NaturalJoin && !j.StraightJoin
}

// source passes a table, a derived table or a join.
func (t *translator) source(n tree.ResultSetNode) *ast.Source {
	if t.failed() {
		return &ast.Source{}
	}
	switch n := n.(type) {
	case *tree.Join:
		if n.ExplicitParens {
			t.wantOp("(")
			inner := *n
			inner.ExplicitParens = false
			s := t.source(&inner)
			t.wantOp(")")
			return s
		}
		if n.Right == nil {
			return t.source(n.Left)
		}
		s := &ast.Source{Left: t.source(n.Left)}
		if comma(n) && t.acceptOp(",") { // only inside parentheses
			s.Right = t.source(n.Right)
			return s
		}
		t.joinRight(s, n)
		return s
	case *tree.TableSource:
		return t.tableSource(n)
	}
	t.fail(fmt.Sprintf("table reference of type %T is not supported", n))
	return &ast.Source{}
}

// joinRight passes the join word, the right side and the condition.
func (t *translator) joinRight(s *ast.Source, n *tree.Join) {
	switch {
	case n.StraightJoin:
		t.want("STRAIGHT_JOIN")
	case n.NaturalJoin:
		s.Natural = true
		t.want("NATURAL")
	}
	switch n.Tp {
	case tree.LeftJoin:
		s.LeftOuter = true
		t.want("LEFT")
		t.accept("OUTER")
	case tree.RightJoin:
		s.RightOuter = true
		t.want("RIGHT")
		t.accept("OUTER")
	default:
		t.accept("INNER", "CROSS")
	}
	if !n.StraightJoin {
		t.want("JOIN")
	}
	s.Right = t.source(n.Right)
	switch {
	case n.On != nil:
		t.want("ON")
		s.On = t.expr(n.On.Expr)
	case len(n.Using) > 0:
		t.want("USING")
		t.wantOp("(")
		for i, c := range n.Using {
			if i > 0 {
				t.wantOp(",")
			}
			s.Using = append(s.Using, t.ident(c.Name.O))
		}
		t.wantOp(")")
	}
}

func (t *translator) tableSource(n *tree.TableSource) *ast.Source {
	s := &ast.Source{}
	start := t.start()
	switch src := n.Source.(type) {
	case *tree.TableName:
		s.Name = t.dotted(src.Schema.O, src.Name.O)
		if len(src.PartitionNames) > 0 {
			t.want("PARTITION")
			t.skipParens()
		}
		if src.AsOf != nil || src.TableSample != nil {
			t.fail("AS OF or TABLESAMPLE")
		}
		t.alias(s, n)
		s.Span = t.span(start)
		t.indexHints(len(src.IndexHints))
		s.Ref = t.span(start)
		return s
	case *tree.Join:
		return t.source(src)
	}
	if n.Lateral {
		t.want("LATERAL")
		s.Lateral = true
	}
	t.wantOp("(")
	s.Select = t.query(n.Source)
	t.wantOp(")")
	t.alias(s, n)
	if len(n.ColumnNames) > 0 {
		s.ColumnAliases = t.identList(n.ColumnNames)
	}
	s.Span = t.span(start)
	return s
}

func (t *translator) alias(s *ast.Source, n *tree.TableSource) {
	if n.AsName.O == "" {
		return
	}
	t.accept("AS")
	id := t.ident(n.AsName.O)
	s.Alias = &id
}

// indexHints passes USE INDEX (...), FORCE KEY FOR JOIN (...) and the like.
func (t *translator) indexHints(n int) {
	for range n {
		t.acceptOp(",")
		if !t.accept("USE", "IGNORE", "FORCE") {
			t.mismatch("an index hint")
			return
		}
		for t.accept("INDEX", "KEY", "FOR", "JOIN", "ORDER", "GROUP", "BY") {
		}
		t.skipParens()
	}
}
