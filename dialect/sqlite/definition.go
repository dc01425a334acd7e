package sqlite

import (
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// definition is what only the statement of CREATE TABLE tells: collations, the
// columns of CHECK constraints and those of generated columns. Names are
// folded to lower case.
type definition struct {
	understood bool
	sql        string
	collations map[string]string
	checked    map[string]bool
	checks     []string // the conditions; "" for one that is not known
	generated  map[string]map[string]bool
	computed   map[string]string // the expressions of generated columns
}

func readDefinition(sql string) definition {
	def := definition{
		sql:        sql,
		collations: map[string]string{},
		checked:    map[string]bool{},
		generated:  map[string]map[string]bool{},
		computed:   map[string]string{},
	}
	n, err := parseOne(sql)
	if err != nil {
		return def
	}
	create, ok := n.(*tree.CreateTableStmt)
	if !ok {
		return def
	}
	for _, c := range create.Columns {
		def.column(c)
	}
	for _, k := range create.Constraints {
		if k.Kind == tree.TableCheck {
			def.check(k.Expr)
		}
	}
	def.understood = true
	return def
}

// column takes up what a column's definition says.
func (def *definition) column(c *tree.ColumnDef) {
	name := foldName(c.Name.Name)
	for _, k := range c.Constraints {
		switch k.Kind {
		case tree.ColumnCollate:
			def.collations[name] = k.Collation.Name
		case tree.ColumnCheck:
			def.check(k.Expr)
		case tree.ColumnGenerated:
			def.generated[name] = map[string]bool{}
			namesIn(k.Expr, def.generated[name])
			def.computed[name] = textOf(def.sql, k.Expr)
		}
	}
}

// check takes up a CHECK constraint.
func (def *definition) check(e tree.Expr) {
	namesIn(e, def.checked)
	def.checks = append(def.checks, textOf(def.sql, e))
}

// textOf returns an expression of a statement, "" if it cannot be told where it stands.
func textOf(sql string, e tree.Expr) string {
	if sp := span(e); sp.Start >= 0 && sp.End <= len(sql) && sp.Start < sp.End {
		return sql[sp.Start:sp.End]
	}
	return ""
}

// checksOf returns the constraints. Each has the columns of all of them: too many
// rather than too few.
func (def definition) checksOf(columns []string) []schema.Check {
	if !def.understood && len(columns) > 0 {
		return []schema.Check{{Columns: columns}}
	}
	var out []schema.Check
	for _, sql := range def.checks {
		out = append(out, schema.Check{Columns: columns, SQL: sql})
	}
	return out
}

// namesIn adds every identifier of an expression: too many rather than too
// few, functions and collations included.
func namesIn(e tree.Expr, into map[string]bool) {
	if e == nil {
		return
	}
	each(e, func(n tree.Node) {
		if id, ok := n.(*tree.Ident); ok {
			into[foldName(id.Name)] = true
		}
	})
}

// collation returns a column's collation, and whether it is known.
func (def definition) collation(column string) (name string, known bool) {
	if !def.understood {
		return "BINARY", false
	}
	if c, ok := def.collations[foldName(column)]; ok {
		return c, true
	}
	return "BINARY", true
}

// dependsOn returns the columns that a generated column is computed from.
func (def definition) dependsOn(column string, t *schema.Table) []string {
	names, ok := def.generated[foldName(column)]
	var out []string
	for _, c := range t.Columns {
		if !ok || names[foldName(c.Name)] {
			out = append(out, c.Name)
		}
	}
	return out
}

// checkedColumns returns the columns that CHECK constraints mention, through
// generated columns too.
func (def definition) checkedColumns(t *schema.Table) []string {
	checked := map[string]bool{}
	if def.understood {
		for n := range def.checked {
			checked[n] = true
		}
	} else if i := strings.Index(foldName(def.sql), "check"); i >= 0 {
		rest := foldName(def.sql[i:])
		for _, c := range t.Columns {
			checked[foldName(c.Name)] = strings.Contains(rest, foldName(c.Name))
		}
	}
	for changed := true; changed; {
		changed = false
		for _, c := range t.Columns {
			if !checked[foldName(c.Name)] {
				continue
			}
			for _, d := range c.DependsOn {
				changed = changed || !checked[foldName(d)]
				checked[foldName(d)] = true
			}
		}
	}
	var out []string
	for _, c := range t.Columns {
		if checked[foldName(c.Name)] {
			out = append(out, c.Name)
		}
	}
	return out
}
