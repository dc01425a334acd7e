package sqlite

import (
	"fmt"
	"slices"

	"github.com/sqlc-dev/meyer/ast"
)

type schemaIndex struct {
	index
	replace bool
}

func (t *schemaTable) uniqueIndexes() []index {
	out := make([]index, len(t.indexes))
	for i, x := range t.indexes {
		out[i] = x.index
	}
	return out
}

// terms returns the columns of a key by their names in the table, and their
// collations. With an expression among them ok is false.
func (t *schemaTable) terms(list []*ast.OrderingTerm) (columns, collations []string, ok bool) {
	ok = true
	for _, term := range list {
		e, collation := term.Expr, ""
		for {
			if c, is := e.(*ast.CollateExpr); is {
				if collation == "" {
					collation = c.Name.Name
				}
				e = c.X
				continue
			}
			break
		}
		name := ""
		switch e := e.(type) {
		case *ast.Ident:
			name = e.Name
		case *ast.Literal:
			name = e.Value
		}
		found := ""
		for _, c := range t.Columns {
			if sameName(c.Name, name) {
				found = c.Name
			}
		}
		if collation == "" {
			collation, _ = t.def.collation(found)
		}
		ok = ok && found != ""
		columns, collations = append(columns, found), append(collations, collation)
	}
	return columns, collations, ok
}

// autoindex begins the names of the indexes of constraints.
const autoindex = "sqlite_autoindex_"

// constraint adds the index of a PRIMARY KEY or UNIQUE clause, unless another
// clause has made it already. Without collations it has the columns' own.
func (t *schemaTable) constraint(primary bool, on ast.ConflictAction, columns, collations []string) {
	if collations == nil {
		for _, c := range columns {
			own, _ := t.def.collation(c)
			collations = append(collations, own)
		}
	}
	for i := range t.indexes {
		x := &t.indexes[i]
		if slices.Equal(x.columns, columns) && slices.EqualFunc(x.collations, collations, sameName) {
			x.primary = x.primary || primary
			return
		}
	}
	t.made++
	name := fmt.Sprintf("%s%s_%d", autoindex, t.Name, t.made)
	t.addIndex(
		schemaIndex{
			index:   index{name: name, primary: primary, columns: columns, collations: collations},
			replace: on == ast.ConflictReplace,
		},
	)
}

// addIndex puts an index where SQLite's list has it.
func (t *schemaTable) addIndex(x schemaIndex) {
	at := 0
	if x.replace {
		at = len(t.indexes)
	}
	t.indexes = slices.Insert(t.indexes, at, x)
}

func (s *schemaFile) index(n *ast.CreateIndexStmt) error {
	t := s.named(n.Table.Name)
	if t == nil || t.IsView {
		return nil
	}
	if !n.Unique {
		indexed(t.Table, n, "")
		return nil
	}
	for _, other := range s.tables {
		for _, x := range other.indexes {
			if sameName(x.name, n.Name.Name.Name) {
				return nil // IF NOT EXISTS
			}
		}
	}
	columns, collations, ok := t.terms(n.Columns)
	t.addIndex(schemaIndex{
		index: index{
			name: n.Name.Name.Name, columns: columns, collations: collations,
			partial: n.Where != nil, expression: !ok, mentioned: indexMentions(n), where: n.Where,
		},
	})
	return nil
}
