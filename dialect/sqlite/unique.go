package sqlite

import (
	"slices"
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// index is a unique index.
type index struct {
	name                string
	primary             bool
	partial, expression bool // it does not hold for all rows, or for columns only
	columns             []string
	collations          []string
	mentioned           map[string]bool // by a partial index, or one on expressions; nil: anything
	where               tree.Expr       // of a partial index, where it is known
}

// define notes what the definition of an index mentions, by the columns' folded names: too
// many rather than too few.
func (x *index) define(sql string) {
	n, err := parseOne(sql)
	create, ok := n.(*tree.CreateIndexStmt)
	if err != nil || !ok {
		return
	}
	x.mentioned, x.where = indexMentions(create), create.Where
}

// computes takes what a row is computed for by an index that is not unique. Where its condition
// fails, its expressions are not computed.
func (t *described) computes(name string, definitions map[string]string) {
	sql := definitions[name]
	n, err := parseOne(sql)
	create, ok := n.(*tree.CreateIndexStmt)
	if err != nil || !ok {
		t.AddIndexed(name, "", func(string) bool { return true })
		return
	}
	add := func(e tree.Expr, sql string) {
		names := map[string]bool{}
		namesIn(e, names)
		t.AddIndexed(name, sql, func(c string) bool { return names[foldName(c)] })
	}
	if create.Where != nil {
		add(create.Where, textOf(sql, create.Where))
	} else {
		t.AddOrder(ordered(t.Table, create.Columns)...)
	}
	for _, term := range create.Columns {
		switch e := term.Expr.(type) {
		case *tree.Ident, *tree.Literal, *tree.CollateExpr:
		default:
			text := textOf(sql, e)
			if create.Where != nil {
				text = ""
			}
			add(e, text)
		}
	}
}

// ordered returns the columns of an index, up to one that is more than a column, or has another direction.
func ordered(t *schema.Table, terms []*tree.OrderingTerm) []string {
	var out []string
	for _, term := range terms {
		id, ok := term.Expr.(*tree.Ident)
		if !ok || term.Order != terms[0].Order {
			break
		}
		for i := range t.Columns {
			if sameName(t.Columns[i].Name, id.Name) {
				out = append(out, t.Columns[i].Name)
			}
		}
	}
	return out
}

// present reports whether a predicate asks only that columns of these are not NULL.
func present(e tree.Expr, columns []string) bool {
	var tested tree.Expr
	switch n := e.(type) {
	case *tree.ParenExpr:
		return present(n.X, columns)
	case *tree.BinaryExpr:
		return n.Op == tree.OpAnd && present(n.X, columns) && present(n.Y, columns)
	case *tree.NullCheckExpr:
		if n.Test == tree.TestIsNull {
			return false
		}
		tested = n.X
	case *tree.IsExpr:
		null, ok := n.Y.(*tree.Literal)
		if !ok || null.Kind != tree.LitNull || !n.Not || n.Distinct {
			return false
		}
		tested = n.X
	}
	id, ok := tested.(*tree.Ident)
	return ok && slices.ContainsFunc(columns, func(c string) bool { return sameName(c, id.Name) })
}

func indexMentions(n *tree.CreateIndexStmt) map[string]bool {
	out := map[string]bool{}
	for _, term := range n.Columns {
		namesIn(term.Expr, out)
		if s, ok := term.Expr.(*tree.Literal); ok {
			out[foldName(s.Value)] = true // a name in single quotes
		}
	}
	namesIn(n.Where, out)
	return out
}

// partialUnique adds an index to the table's partial ones.
func partialUnique(t *schema.Table, x index) {
	names := x.mentioned
	if !x.partial && !x.expression {
		names = map[string]bool{}
		for _, c := range x.columns {
			names[foldName(c)] = true
		}
	}
	t.AddPartialUnique(x.name, func(c string) bool { return names == nil || names[foldName(c)] })
}

// addUniques adds the indexes under which rows that compare equal, column by
// column, are one row. An index may be coarser than its columns (NOCASE over
// BINARY), but not finer: under `slug TEXT COLLATE NOCASE` and a unique index
// on `slug COLLATE BINARY`, slug = 'a' finds both 'a' and 'A'.
func addUniques(t *schema.Table, indexes []index, def definition) {
	var primary, others []schema.Unique
	for _, x := range indexes {
		if x.partial || x.expression {
			t.OtherUniques = true
			partialUnique(t, x)
			if !x.expression && present(x.where, x.columns) && ownCollations(x, def) {
				t.MarkPresent(x.name)
			}
			continue
		}
		fits := true
		for i, name := range x.columns {
			own, known := def.collation(name)
			same := known && sameName(own, x.collations[i])
			fits = fits && (same || known && sameName(own, "BINARY"))
			t.OtherUniques = t.OtherUniques || !same
			if c := t.Column(name); !same && c != nil && !strings.HasSuffix(c.Type, foreignCollation) && sameName(own, "BINARY") {
				c.Type = strings.TrimSpace(c.Type + foreignCollation)
			}
		}
		t.OtherUniques = t.OtherUniques || !fits
		if !fits {
			partialUnique(t, x)
			continue
		}
		t.AddOrder(x.columns...)
		u := schema.Unique{Name: x.name, Primary: x.primary, Columns: x.columns}
		if x.primary {
			primary = append(primary, u)
		} else {
			others = append(others, u)
		}
	}
	t.Uniques = append(append(t.Uniques, primary...), others...)
}

// ownCollations reports whether each column of an index compares as the column does.
func ownCollations(x index, def definition) bool {
	for i, name := range x.columns {
		if own, known := def.collation(name); !known || !sameName(own, x.collations[i]) {
			return false
		}
	}
	return true
}
