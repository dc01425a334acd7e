package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlc-dev/oliphant/ast"

	dialect "github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// serials are the types that make a column with a sequence.
var serials = map[string]string{
	"serial": "int4", "serial4": "int4", "bigserial": "int8", "serial8": "int8", "smallserial": "int2", "serial2": "int2",
}

// typeNames are the names that format_type gives built-in types, with the
// place of their modifiers, where they differ from the stored ones.
var typeNames = map[string]string{
	"int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision", "bool": "boolean",
	"bpchar": "character%s", "varchar": "character varying%s", "numeric": "numeric%s", "bit": "bit%s", "varbit": "bit varying%s",
	"timestamp": "timestamp%s without time zone", "timestamptz": "timestamp%s with time zone",
	"time": "time%s without time zone", "timetz": "time%s with time zone", "interval": "interval%s", "char": `"char"`,
}

// describe sets what the column's type says.
//
//nolint:funlen // one case for each type
func (s *file) describe(t *table, c *schema.Column, n *ast.TypeName, collate *ast.CollateClause) error {
	_, name := lastTwo(n.Names)
	if base, ok := serials[name]; ok && len(n.Names) == 1 {
		c.Identity, c.Nullable = true, false
		n = &ast.TypeName{Names: []*ast.Node{stringNode("pg_catalog"), stringNode(base)}}
	}
	c.Domain = ""
	mods := n.Typmods
	arrays := len(n.ArrayBounds) > 0
	for depth := 0; depth < 32 && !arrays; depth++ {
		_, name = lastTwo(n.Names)
		d := s.domains[name]
		if d == nil {
			break
		}
		if depth == 0 {
			c.Domain = d.name
		}
		if d.checked {
			t.checks = append(t.checks, check{columns: []string{c.Name}})
		}
		if collate == nil {
			collate = d.collation
		}
		n = d.base
		mods, arrays = n.Typmods, len(n.ArrayBounds) > 0
	}
	inSchema, name := lastTwo(n.Names)
	builtin := inSchema == "pg_catalog" || inSchema == "" && (typeNames[name] != "" || s.domains[name] == nil)
	numbers, err := modifiers(mods)
	if err != nil {
		return fmt.Errorf("column %q: %w", c.Name, err)
	}
	c.Numeric, c.Bits, c.Precision, c.Scale = schema.NotNumeric, 0, 0, 0
	typmod := -1
	text := ""
	switch {
	case name == "numeric" && builtin && len(numbers) > 0:
		if len(numbers) == 1 {
			numbers = append(numbers, 0)
		}
		typmod = numbers[0]<<16 | numbers[1]&0x7ff + 4
		text = fmt.Sprintf("(%d,%d)", numbers[0], numbers[1])
	case name == "interval" && builtin && len(numbers) == 2:
		text = fmt.Sprintf("(%d)", numbers[1])
	case name == "interval" && builtin && len(numbers) == 1: // fields, such as YEAR TO MONTH
		return fmt.Errorf("column %q: intervals with fields are not supported in a schema file", c.Name)
	case len(numbers) > 0:
		words := make([]string, len(numbers))
		for i, n := range numbers {
			words[i] = strconv.Itoa(n)
		}
		text = "(" + strings.Join(words, ",") + ")"
	}
	format, known := typeNames[name]
	switch {
	case !builtin || !known:
		format = identifier(name) + "%s"
		if inSchema != "" && inSchema != "pg_catalog" && inSchema != "public" {
			format = identifier(inSchema) + "." + format
		}
	case name == "bpchar" && text == "":
		format = "bpchar"
	}
	c.Type = strings.Replace(format, "%s", text, 1)
	if arrays {
		c.Type += "[]"
	} else if builtin {
		if err := dialect.DescribeNumber(c, name, strconv.Itoa(typmod)); err != nil {
			return err
		}
	}
	c.Type += s.collation(collate, name)
	return nil
}

func stringNode(s string) *ast.Node {
	return &ast.Node{Node: &ast.Node_String_{String_: &ast.String{Sval: s}}}
}

// collation writes a collation other than the type's own.
func (s *file) collation(n *ast.CollateClause, typ string) string {
	if n == nil {
		return ""
	}
	schema, name := lastTwo(n.Collname)
	if schema == "" {
		schema = "pg_catalog"
		if own, ok := s.collations[name]; ok {
			schema = own
		}
	}
	if schema == "pg_catalog" && (name == "default" || name == "C" && typ == "name") {
		return ""
	}
	return " COLLATE " + identifier(schema) + "." + identifier(name)
}

// modifiers reads the numbers behind a type's name.
func modifiers(list []*ast.Node) ([]int, error) {
	var out []int
	for _, n := range list {
		switch v := n.GetNode().(type) {
		case *ast.Node_AConst:
			if _, ok := v.AConst.GetVal().(*ast.A_Const_Ival); ok {
				out = append(out, int(v.AConst.GetIval().GetIval()))
				continue
			}
		case *ast.Node_AExpr: // -2
			if _, op := lastTwo(v.AExpr.Name); op == "-" && v.AExpr.Lexpr == nil {
				out = append(out, -int(v.AExpr.Rexpr.GetAConst().GetIval().GetIval()))
				continue
			}
		case *ast.Node_Integer:
			out = append(out, int(v.Integer.Ival))
			continue
		}
		return nil, fmt.Errorf("a type's modifier is not a number")
	}
	return out, nil
}

var plainIdentifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// identifier quotes a name where quote_ident would, but for keywords other
// than the few that types and collations are called by.
func identifier(name string) string {
	if plainIdentifier.MatchString(name) && !slices.Contains([]string{"default", "user", "order", "group", "table", "all"}, name) {
		return name
	}
	return quote(name)
}
