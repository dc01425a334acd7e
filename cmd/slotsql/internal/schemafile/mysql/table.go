package mysql

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/types"

	dialect "github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// table is a table of a schema file while that is read.
type table struct {
	*schema.Table
	charset, collation string
	keys               []index
	checks             []expression
	generated          map[string]expression // the expression, by column
	parted             []string              // columns of what it is partitioned by
	referring          [][]string            // the columns of each foreign key
}

type index struct {
	name            string
	primary, unique bool
	partial         bool // on a prefix or an expression
	columns         []string
	mentioned       []string // by expressions
	order           []string // columns by which rows can be read in order
}

// rename gives a column another name.
func (k *index) rename(old, name string) {
	for _, columns := range [][]string{k.columns, k.order} {
		if i := slices.Index(columns, old); i >= 0 {
			columns[i] = name
		}
	}
}

// like returns a copy without what belongs to the one table only.
func (t *table) like() *table {
	c := *t
	c.Table = &schema.Table{Columns: slices.Clone(t.Columns)}
	c.keys, c.checks, c.generated = slices.Clone(t.keys), slices.Clone(t.checks), maps.Clone(t.generated)
	c.Storage.Partitioned = t.Storage.Partitioned
	return &c
}

func (t *table) options(list []*ast.TableOption) {
	for _, o := range list {
		switch o.Tp {
		case ast.TableOptionCharset:
			t.charset, t.collation = canonical(o.StrValue), ""
		case ast.TableOptionCollate:
			t.collation = canonical(o.StrValue)
			t.charset, t.collation = ofCharset(t.charset, t.collation)
		}
	}
}

// canonical is a character set or collation as servers write it.
func canonical(name string) string {
	name = strings.ToLower(name)
	if name == "utf8" {
		return "utf8mb3"
	}
	if rest, ok := strings.CutPrefix(name, "utf8_"); ok {
		return "utf8mb3_" + rest
	}
	return name
}

// ofCharset completes a collation and its character set by each other.
func ofCharset(charset, collation string) (string, string) {
	if strings.HasPrefix(collation, "uca1400_") {
		if charset == "" {
			return "", collation
		}
		return charset, charset + "_" + collation
	}
	charset, _, _ = strings.Cut(collation, "_")
	return charset, collation
}

func (t *table) named(column string) int {
	return slices.IndexFunc(t.Columns, func(c schema.Column) bool { return strings.EqualFold(c.Name, column) })
}

func (t *table) position(p *ast.ColumnPosition, otherwise int) int {
	if p == nil {
		return otherwise
	}
	switch p.Tp {
	case ast.ColumnPositionFirst:
		return 0
	case ast.ColumnPositionAfter:
		if at := t.named(p.RelativeColumn.Name.O); at >= 0 {
			return at + 1
		}
	}
	return otherwise
}

// column adds a column at a position.
func (s *file) column(t *table, n *ast.ColumnDef, at int) error {
	c := schema.Column{Name: n.Name.Name.O, Nullable: true}
	if t.named(c.Name) >= 0 {
		return fmt.Errorf("column %q already exists", c.Name)
	}
	part := []*ast.IndexPartSpecification{{Column: n.Name, Length: types.UnspecifiedLength}}
	collation, refers := "", false
	t.Columns = slices.Insert(t.Columns, at, c) // keys look for it
	for _, o := range n.Options {
		var err error
		switch o.Tp {
		case ast.ColumnOptionNotNull:
			c.Nullable = false
		case ast.ColumnOptionAutoIncrement:
			c.Identity, c.Nullable = true, false
		case ast.ColumnOptionDefaultValue:
			v, ok := o.Expr.(ast.ValueExpr)
			c.HasDefault = !ok || v.GetValue() != nil
			c.Default = kindOfDefault(o.Expr)
		case ast.ColumnOptionOnUpdate:
			c.OnUpdate = true
		case ast.ColumnOptionGenerated:
			c.Generated = true
			t.generated[c.Name] = expressionOf(o.Expr)
		case ast.ColumnOptionCollate:
			collation = canonical(o.StrValue)
		case ast.ColumnOptionCheck:
			t.checks = append(t.checks, expressionOf(o.Expr))
		case ast.ColumnOptionPrimaryKey:
			err = t.key("PRIMARY", true, true, part)
		case ast.ColumnOptionUniqKey:
			err = t.key("", false, true, part)
		case ast.ColumnOptionReference:
			s.reference(o.Refer)
			refers = true
		}
		if err != nil {
			return err
		}
	}
	t.describe(&c, n.Tp, collation)
	describeNumber(&c, n.Tp)
	t.Columns[t.named(c.Name)] = c
	if refers {
		t.Refer(c.Name)
	}
	return nil
}

var displayWidth = regexp.MustCompile(`^((?:tiny|small|medium|big)?int|year)\(-?\d+\)`)

// describe sets what the column's type says, in the words of
// information_schema.
func (t *table) describe(c *schema.Column, ft *types.FieldType, collation string) {
	c.Type = strings.ToLower(ft.InfoSchemaStr())
	if ft.GetType() == mysql.TypeEnum || ft.GetType() == mysql.TypeSet {
		c.Type = ft.InfoSchemaStr() // values keep their letter case
	}
	if mysql.HasZerofillFlag(ft.GetFlag()) {
		c.Type += " zerofill"
	} else if c.Type != "tinyint(1)" {
		c.Type = displayWidth.ReplaceAllString(c.Type, "$1")
	}
	isText := types.IsTypeChar(ft.GetType()) || types.IsTypeBlob(ft.GetType()) || ft.GetType() == mysql.TypeEnum ||
		ft.GetType() == mysql.TypeSet
	if !isText || ft.GetCharset() == "binary" {
		return
	}
	charset := canonical(ft.GetCharset())
	switch {
	case collation != "":
		if charset == "" {
			charset = t.charset
		}
		charset, collation = ofCharset(charset, collation)
	case charset == "" && t.charset != "":
		charset, collation = t.charset, t.collation
	}
	if mysql.HasBinaryFlag(ft.GetFlag()) && charset != "" {
		collation = charset + "_bin"
	}
	if charset != "" {
		c.Type += " CHARACTER SET " + charset
	}
	if collation != "" {
		c.Type += " COLLATE " + collation
	}
}

// describeNumber sets what the type says of a number.
func describeNumber(c *schema.Column, ft *types.FieldType) {
	dataType, _, _ := strings.Cut(c.Type, "(")
	dataType, _, _ = strings.Cut(dataType, " ")
	precision, scale := ft.GetFlen(), ft.GetDecimal()
	if precision == types.UnspecifiedLength {
		precision = 10
	}
	dialect.DescribeNumber(c, dialect.Number{
		DataType:  strings.ToLower(dataType),
		Precision: strconv.Itoa(precision), Scale: strconv.Itoa(max(scale, 0)),
	})
}

// mentioned returns the columns of the table that an expression names, and all columns when
// it names none.
func (t *table) mentioned(names []string) []string {
	var out, all []string
	for _, c := range t.Columns {
		all = append(all, c.Name)
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, c.Name) }) {
			out = append(out, c.Name)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// columnsOf lists the columns that an expression names.
func columnsOf(e ast.ExprNode) []string {
	var v columnNames
	e.Accept(&v)
	return v
}

// expression is one of a generated column or of a CHECK constraint.
type expression struct {
	columns []string // as written
	sql     string
}

func expressionOf(e ast.ExprNode) expression {
	var b strings.Builder
	if e.Restore(format.NewRestoreCtx(format.DefaultRestoreFlags, &b)) != nil {
		b.Reset()
	}
	return expression{columnsOf(e), b.String()}
}

type columnNames []string

// Enter implements ast.Visitor.
func (v *columnNames) Enter(n ast.Node) (ast.Node, bool) {
	if c, ok := n.(*ast.ColumnName); ok {
		*v = append(*v, c.Name.O)
	}
	return n, false
}

// Leave implements ast.Visitor.
func (*columnNames) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// key adds an index; without a name it gets the server's.
func (t *table) key(name string, primary, unique bool, parts []*ast.IndexPartSpecification) error {
	k := index{name: name, primary: primary, unique: unique}
	whole := true
	for _, p := range parts {
		if p.Column == nil {
			k.partial, whole = true, false
			k.mentioned = append(k.mentioned, t.mentioned(columnsOf(p.Expr))...)
			continue
		}
		at := t.named(p.Column.Name.O)
		if at < 0 {
			return fmt.Errorf("key on column %q, which does not exist in the table", p.Column.Name.O)
		}
		k.columns = append(k.columns, t.Columns[at].Name)
		k.partial, whole = k.partial || p.Length > 0, whole && p.Length <= 0
		if whole {
			k.order = append(k.order, t.Columns[at].Name)
		}
	}
	taken := func(name string) bool {
		return strings.EqualFold(name, "PRIMARY") ||
			slices.ContainsFunc(t.keys, func(k index) bool { return strings.EqualFold(k.name, name) })
	}
	if k.name == "" {
		first := "functional_index"
		if len(k.columns) > 0 {
			first = k.columns[0]
		}
		k.name = first
		for i := 2; taken(k.name); i++ {
			k.name = fmt.Sprintf("%s_%d", first, i)
		}
	}
	t.keys = append(t.keys, k)
	return nil
}

func (t *table) dropKey(name string) {
	t.keys = slices.DeleteFunc(t.keys, func(k index) bool { return strings.EqualFold(k.name, name) })
}

// finish fills in what depends on the whole of the table.
func (t *table) finish() {
	sort.SliceStable(t.keys, func(i, j int) bool {
		a, b := t.keys[i], t.keys[j]
		if a.primary != b.primary {
			return a.primary
		}
		return strings.ToUpper(a.name) < strings.ToUpper(b.name) // _ comes after the letters
	})
	for _, k := range t.keys {
		for _, name := range k.columns {
			if k.primary {
				t.Column(name).Nullable = false
			}
		}
		t.Index(k.columns...)
		t.AddOrder(k.order...)
		t.OtherUniques = t.OtherUniques || k.unique && k.partial
		if !k.unique && len(k.mentioned) > 0 {
			t.AddIndexed(k.name, "", func(c string) bool { return slices.Contains(k.mentioned, c) })
		}
		if k.unique && k.partial {
			t.AddPartialUnique(k.name, func(c string) bool { return slices.Contains(k.columns, c) || slices.Contains(k.mentioned, c) })
		}
		if k.unique && !k.partial {
			t.Uniques = append(t.Uniques, schema.Unique{Name: k.name, Primary: k.primary, Columns: k.columns})
		}
	}
	for i := range t.Columns {
		if expr, ok := t.generated[t.Columns[i].Name]; ok {
			t.Columns[i].DependsOn = t.mentioned(expr.columns)
			t.AddGenerated(i, expr.sql)
		}
	}
	t.Index(t.ForeignKeys.Columns...) // the server makes an index where there is none
	for _, columns := range t.referring {
		begins := func(o []string) bool { return len(o) >= len(columns) && slices.Equal(o[:len(columns)], columns) }
		if !slices.ContainsFunc(t.Storage.Orders, begins) {
			t.AddOrder(columns...)
		}
	}
	if len(t.parted) > 0 {
		t.Partition(t.mentioned(t.parted)...)
	}
	seen := map[string]bool{}
	for _, k := range t.checks {
		check := schema.Check{Columns: t.mentioned(k.columns), SQL: k.sql}
		t.Checks = append(t.Checks, check)
		for _, c := range check.Columns {
			if !seen[c] {
				seen[c] = true
				t.Checked = append(t.Checked, c)
			}
		}
	}
}

// kindOfDefault returns the kind of a default.
func kindOfDefault(e ast.ExprNode) schema.DefaultKind {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		switch e.FnName.L {
		case "current_timestamp", "now", "localtime", "localtimestamp":
			return schema.DefaultNow
		}
		return schema.DefaultComputed
	case ast.ValueExpr, *ast.UnaryOperationExpr:
		return schema.DefaultFixed
	}
	return schema.DefaultComputed
}
