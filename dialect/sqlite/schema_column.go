package sqlite

import (
	"regexp"
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite"
)

func declaredTypeOf(n *ast.CreateTableStmt, column string) string {
	for _, c := range n.Columns {
		if sameName(c.Name.Name, column) {
			return declaredType(c)
		}
	}
	return ""
}

// generatedAlways ends a type for the parser, as it does for SQLite's own.
var generatedAlways = regexp.MustCompile(`(?i)\s*\bgenerated\s+always$`)

// declaredType is the type as the schema pragmas show it: SQLite keeps the
// text, but for its own type names.
func declaredType(c *ast.ColumnDef) string {
	if c.Type == nil {
		return ""
	}
	raw := generatedAlways.ReplaceAllString(strings.TrimSpace(c.Type.Raw), "")
	for _, own := range []string{"ANY", "BLOB", "INT", "INTEGER", "REAL", "TEXT"} {
		if sameName(raw, own) {
			return own
		}
	}
	if n := len(raw); n > 1 && strings.IndexByte("\"'`[", raw[0]) >= 0 && len(strings.Fields(raw)) == 1 {
		return raw[1 : n-1]
	}
	return raw
}

// column adds a column, without what other clauses of its table say of it.
func (s *schemaFile) column(t *schemaTable, c *ast.ColumnDef) {
	declared := declaredType(c)
	col := rewrite.Column{Name: c.Name.Name, Nullable: true, Type: columnType(declared, t.strict)}
	collation, refers := "BINARY", false
	for _, k := range c.Constraints {
		switch k.Kind {
		case ast.ColumnNotNull:
			col.Nullable = false
		case ast.ColumnDefault:
			lit, ok := k.Expr.(*ast.Literal)
			col.HasDefault = !ok || lit.Kind != ast.LitNull
		case ast.ColumnGenerated:
			col.Generated = true
		case ast.ColumnCollate:
			collation = k.Collation.Name
		case ast.ColumnReferences:
			s.reference(t, k.References)
			refers = true
		}
	}
	if !sameName(collation, "BINARY") {
		col.Type, col.Collation = strings.TrimSpace(col.Type+" COLLATE "+quote(collation)), collation
	} else if !sameName(col.Name, "true") && !sameName(col.Name, "false") {
		col.Numeric, col.Bits = numeric(declared, t.strict)
	}
	t.Columns = append(t.Columns, col)
	if refers {
		t.Refer(col.Name)
	}
	t.def.column(c)
}
