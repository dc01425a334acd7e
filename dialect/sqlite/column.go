package sqlite

import (
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// foreignCollation ends the type of a column that a unique index compares by
// another collation than the column's own BINARY. No foreign key can refer to
// such a column through that index.
const foreignCollation = " COLLATE BINARY"

// column takes a column of the table.
func (t *described) column(r []any) {
	hidden := number(r[4])
	if hidden == 1 { // a virtual table's hidden column
		return
	}
	name, declared := dialect.String(r[0]), dialect.String(r[1])
	dflt := dialect.String(r[3])
	c := schema.Column{
		Name:       name,
		Type:       columnType(declared, t.strict),
		Nullable:   number(r[2]) == 0, // SQLite takes NULLs in a PRIMARY KEY that does not say NOT NULL
		HasDefault: dflt != "" && !sameName(dflt, "NULL"),
		Generated:  hidden == 2 || hidden == 3,
	}
	collation, known := t.def.collation(name)
	if !sameName(collation, "BINARY") {
		c.Type, c.Collation = strings.TrimSpace(c.Type+" COLLATE "+quote(collation)), collation
	}
	if known && sameName(collation, "BINARY") && !sameName(name, "true") && !sameName(name, "false") {
		c.Numeric, c.Bits = numeric(declared, t.strict)
	}
	if number(r[5]) > 0 {
		if t.primary++; sameName(declared, "INTEGER") {
			t.keys = append(t.keys, name)
		}
	}
	t.Columns = append(t.Columns, c)
}

// affinity applies the rules of https://www.sqlite.org/datatype3.html#determination_of_column_affinity.
func affinity(declared string) string {
	d := strings.ToUpper(declared)
	has := func(list ...string) bool {
		for _, s := range list {
			if strings.Contains(d, s) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case d == "" || has("BLOB"):
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}

// numeric classifies a column. NUMERIC affinity, which DECIMAL columns have,
// holds floating-point numbers, whose addition is not exact.
func numeric(declared string, strict bool) (n schema.Numeric, bits int) {
	if isAny(declared, strict) {
		return schema.NotNumeric, 0
	}
	switch affinity(declared) {
	case "INTEGER":
		return schema.Integer, 64
	case "REAL", "NUMERIC":
		return schema.Float, 0
	}
	return schema.NotNumeric, 0
}

func isAny(declared string, strict bool) bool { return strict && sameName(declared, "ANY") }

// columnType returns the declared type as it can stand in DDL, or the name of
// its affinity where the text as such would be read differently: a quoted type
// whose words are keywords, or ANY, which means NUMERIC outside STRICT tables.
func columnType(declared string, strict bool) string {
	if declared == "" {
		return ""
	}
	if isAny(declared, strict) {
		return "BLOB"
	}
	n, err := parseOne("CREATE TABLE t (c " + declared + ")")
	if create, ok := n.(*tree.CreateTableStmt); err == nil && ok && len(create.Columns) == 1 && len(create.Constraints) == 0 {
		if c := create.Columns[0]; c.Type != nil && c.Type.Raw == declared && len(c.Constraints) == 0 {
			return declared
		}
	}
	return affinity(declared)
}
