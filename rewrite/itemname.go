package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file finds the names that result columns have without an alias.

// itemNames finds what the result columns of a block are named, and which of them a name in ORDER BY or HAVING means.
type itemNames struct {
	b *blockReader
	p *planning
}

func itemNamesOf(b *blockReader) itemNames { return itemNames{b, b.p} }

// itemName returns the result column's name that the edits inside the item
// would change, or "" when they do not change it.
func (nm itemNames) itemName(it ast.Item) (string, bool) {
	e := ast.Unparen(it.Expr)
	if e.Kind == ast.ColumnRef {
		return nm.columnName(e), true
	}
	if by := nm.p.d.Traits().ItemNames; by != names.ItemsByRule {
		end := it.Expr.End
		if by == names.ItemsToNextToken {
			end = nm.p.src.nextToken(end)
		}
		return strings.TrimRight(nm.p.consts.noted(nm.p.src.sql[it.Expr.Start:end]), " \t\n\f\r"), true
	}
	return ruleName(nm.b, e)
}

// columnName is how the engine reports a bare column.
func (nm itemNames) columnName(e *ast.Expr) string {
	last := e.Name[len(e.Name)-1]
	t, err := nm.p.names.Resolve(nm.b.sc, e.Name)
	if !nm.storedNames() {
		return last.Name
	}
	if err == nil && t != nil && t.Column != nil {
		return t.Column.Name
	}
	if x := nm.b.labelled(e.Name, true); x != nil && x.Derived {
		for _, c := range nm.p.names.Labels(x) {
			if nm.p.names.SameLabel(last, c) {
				return c.Name
			}
		}
	}
	return last.Name
}

// storedNames reports whether the engine names a bare column of the block as its table does.
func (nm itemNames) storedNames() bool {
	stored := nm.p.d.Traits().StoredNames
	return stored == names.NamesStored || stored == names.OutermostNamesStored && nm.outermost()
}

// outermost reports whether the block names the columns of the whole result.
func (nm itemNames) outermost() bool {
	return nm.b.q == nil || nm.b.q == nm.p.queries.top
}

// ruleName follows PostgreSQL's naming of result columns: operators have no
// name of their own, calls the function's, casts, COLLATE and the ELSE of a
// CASE their operand's. It returns "" for a name that does not come from a
// column.
func ruleName(b *blockReader, e *ast.Expr) (string, bool) {
	switch e.Kind {
	case ast.Binary, ast.Unary, ast.Number, ast.String, ast.Null, ast.Param, ast.In, ast.Call:
		return "", true
	case ast.Subquery:
		return "", e.Query == nil || len(e.Query.Items) == 0 || len(e.Query.Operands) > 0 || e.Query.Items[0].Expr == nil ||
			e.Query.Items[0].Expr.Kind != ast.Opaque
	case ast.Opaque:
		switch e.Op {
		case "":
			return "", false
		case "cast", "collate":
			if len(e.Args) != 1 {
				return "", false
			}
			return operandName(b, e.Args[0])
		case "indirection":
			// The last field, or with subscripts alone what they stand behind;
			// a row that is replaced has a field behind it.
			if a := ast.Unparen(e.Args[0]); a.Kind != ast.ColumnRef {
				return ruleName(b, a)
			}
			return "", true
		case "case":
			if n := len(e.Args); n > 0 && behindElse(b.p.src, e.Args[n-1]) {
				return operandName(b, e.Args[n-1])
			}
		}
		return "", true
	}
	return "", false
}

func operandName(b *blockReader, e *ast.Expr) (string, bool) {
	if e = ast.Unparen(e); e.Kind == ast.ColumnRef {
		return itemNamesOf(b).columnName(e), true
	}
	return ruleName(b, e)
}

// behindElse reports whether an operand of CASE stands behind ELSE.
func behindElse(src *source, e *ast.Expr) bool {
	i := 0
	for i < len(src.tokens) && src.tokens[i].Start < e.Start {
		i++
	}
	for i--; src.is(i, "("); i-- {
	}
	return src.is(i, "ELSE")
}
