package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var integerBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64}

// Number is what a column's definition says of a number, as information_schema has it.
type Number struct {
	DataType         string // in lower case
	Precision, Scale string
}

// DescribeNumber completes the facts of a column, whose other facts are known: how it adds up. A ZEROFILL column shows its
// values padded, which a total cannot.
func DescribeNumber(c *schema.Column, n Number) {
	defined := strings.ToLower(c.Type)
	c.Unsigned = strings.Contains(defined, "unsigned")
	c.Padded = strings.Contains(defined, "zerofill")
	if bits, ok := integerBits[n.DataType]; ok {
		c.Numeric, c.Bits = schema.Integer, bits
	}
	switch n.DataType {
	case "decimal", "numeric":
		c.Numeric = schema.Decimal
		c.Precision, _ = strconv.Atoi(n.Precision)
		c.Scale, _ = strconv.Atoi(n.Scale)
	case "float", "double", "real":
		c.Numeric = schema.Float
	}
}

// mentioned returns the columns whose names occur in an expression, and all
// columns when none does.
func mentioned(t *schema.Table, expr string) []string {
	found := map[string]bool{}
	for _, tok := range lex.Tokens(&lexRules, expr) {
		name := expr[tok.Start:tok.End]
		switch tok.Kind {
		case lex.QuotedIdent:
			found[strings.ToLower(unquote(name))] = true
		case lex.Word:
			found[strings.ToLower(name)] = true
		}
	}
	var out, all []string
	for _, c := range t.Columns {
		all = append(all, c.Name)
		if found[strings.ToLower(c.Name)] {
			out = append(out, c.Name)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// referencing looks for foreign keys of the table's database that refer to it and
// change rows, but slotsql's own.
func referencing(ctx context.Context, s dialect.Session, t *schema.Table) error {
	rows, err := s.Query(ctx, "SELECT CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS"+
		" WHERE CONSTRAINT_SCHEMA = ? AND UNIQUE_CONSTRAINT_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?", t.Schema, t.Schema, t.Name)
	if err != nil {
		return fmt.Errorf("reading foreign keys: %w", err)
	}
	for _, r := range rows {
		if strings.HasPrefix(dialect.String(r[0]), constraintPrefix) {
			continue
		}
		for _, rule := range r[1:] {
			if v := dialect.String(rule); v != "RESTRICT" && v != "NO ACTION" {
				t.ForeignKeys.Referenced = true
			}
		}
	}
	return nil
}

// temporary reports whether a temporary table hides the table or view of that name.
func temporary(ctx context.Context, s dialect.Session, t *schema.Table) (bool, error) {
	rows, err := s.Query(ctx, "SHOW CREATE TABLE "+baseTable(t))
	if err != nil && (t.IsView || strings.Contains(err.Error(), "1142")) {
		return false, nil // who may not look at it has not made it; a view may be one of tables that are no more
	}
	if err != nil {
		return false, fmt.Errorf("reading the definition: %w", err)
	}
	for _, r := range rows {
		if len(r) > 1 && strings.HasPrefix(dialect.String(r[1]), "CREATE TEMPORARY") {
			return true, nil
		}
	}
	return false, nil
}
