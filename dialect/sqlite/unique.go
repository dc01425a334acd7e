package sqlite

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite"
)

// index is a unique index.
type index struct {
	name                string
	primary             bool
	partial, expression bool // it does not hold for all rows, or for columns only
	columns             []string
	collations          []string
	mentioned           map[string]bool // by a partial index, or one on expressions; nil: anything
}

// indexed returns the columns that the definition of an index mentions, by their folded
// names: too many rather than too few. It is nil where they are not known.
func indexed(sql string) map[string]bool {
	n, err := parseOne(sql)
	create, ok := n.(*ast.CreateIndexStmt)
	if err != nil || !ok {
		return nil
	}
	return indexMentions(create)
}

func indexMentions(n *ast.CreateIndexStmt) map[string]bool {
	out := map[string]bool{}
	for _, term := range n.Columns {
		namesIn(term.Expr, out)
		if s, ok := term.Expr.(*ast.Literal); ok {
			out[foldName(s.Value)] = true // a name in single quotes
		}
	}
	namesIn(n.Where, out)
	return out
}

// partialUnique adds an index to the table's partial ones.
func partialUnique(t *rewrite.Table, x index) {
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
func addUniques(t *rewrite.Table, indexes []index, def definition) {
	var primary, others []rewrite.Unique
	for _, x := range indexes {
		if x.partial || x.expression {
			t.OtherUniques = true
			partialUnique(t, x)
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
		u := rewrite.Unique{Name: x.name, Primary: x.primary, Columns: x.columns}
		if x.primary {
			primary = append(primary, u)
		} else {
			others = append(others, u)
		}
	}
	t.Uniques = append(append(t.Uniques, primary...), others...)
}
