package mysql

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/types"

	"github.com/slotsql/slotsql/rewrite"
)

// schemaTable is a table of a schema file while that is read.
type schemaTable struct {
	*rewrite.Table
	charset, collation string
	keys               []schemaKey
	checks             []schemaCheck
	generated          map[string]schemaCheck // the expression, by column
	parted             []string               // columns of what it is partitioned by
	referring          [][]string             // the columns of each foreign key
}

type schemaKey struct {
	name            string
	primary, unique bool
	partial         bool // on a prefix or an expression
	columns         []string
	mentioned       []string // by expressions
	order           ordering
}

// rename gives a column another name.
func (k *schemaKey) rename(old, name string) {
	for _, columns := range [][]string{k.columns, k.order.columns} {
		if i := slices.Index(columns, old); i >= 0 {
			columns[i] = name
		}
	}
}

// like returns a copy without what belongs to the one table only.
func (t *schemaTable) like() *schemaTable {
	c := *t
	c.Table = &rewrite.Table{Columns: slices.Clone(t.Columns)}
	c.keys, c.checks, c.generated = slices.Clone(t.keys), slices.Clone(t.checks), maps.Clone(t.generated)
	c.Storage.Partitioned = t.Storage.Partitioned
	return &c
}

func (t *schemaTable) options(list []*ast.TableOption) {
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

func (t *schemaTable) named(column string) int {
	return slices.IndexFunc(t.Columns, func(c rewrite.Column) bool { return strings.EqualFold(c.Name, column) })
}

func (t *schemaTable) position(p *ast.ColumnPosition, otherwise int) int {
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
func (s *schemaFile) column(t *schemaTable, n *ast.ColumnDef, at int) error {
	c := rewrite.Column{Name: n.Name.Name.O, Nullable: true}
	if t.named(c.Name) >= 0 {
		return fmt.Errorf("column %q already exists", c.Name)
	}
	part := []*ast.IndexPartSpecification{{Column: n.Name, Length: types.UnspecifiedLength}}
	collation, value, comment, refers := "", "", "", false
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
			value, c.Default = literalDefault(o.Expr), kindOfDefault(o.Expr)
		case ast.ColumnOptionComment:
			if v, ok := o.Expr.(ast.ValueExpr); ok {
				comment = v.GetString()
			}
		case ast.ColumnOptionOnUpdate:
			c.OnUpdate = true
		case ast.ColumnOptionGenerated:
			c.Generated = true
			t.generated[c.Name] = checkOf(o.Expr)
		case ast.ColumnOptionCollate:
			collation = canonical(o.StrValue)
		case ast.ColumnOptionCheck:
			t.checks = append(t.checks, checkOf(o.Expr))
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
	copied(&c, value, comment)
	t.Columns[t.named(c.Name)] = c
	if refers {
		t.Refer(c.Name)
	}
	return nil
}

var displayWidth = regexp.MustCompile(`^((?:tiny|small|medium|big)?int|year)\(-?\d+\)`)

// describe sets what the column's type says, in the words of
// information_schema.
func (t *schemaTable) describe(c *rewrite.Column, ft *types.FieldType, collation string) {
	c.Type = strings.ToLower(ft.InfoSchemaStr())
	if ft.GetType() == mysql.TypeEnum || ft.GetType() == mysql.TypeSet {
		c.Type = ft.InfoSchemaStr() // values keep their letter case
	}
	if mysql.HasZerofillFlag(ft.GetFlag()) {
		c.Type += " zerofill"
	} else if c.Type != "tinyint(1)" {
		c.Type = displayWidth.ReplaceAllString(c.Type, "$1")
	}
	dataType, _, _ := strings.Cut(c.Type, "(")
	dataType, _, _ = strings.Cut(dataType, " ")
	precision, scale := ft.GetFlen(), ft.GetDecimal()
	if precision == types.UnspecifiedLength {
		precision = 10
	}
	numeric(c, dataType, c.Type, fmt.Sprint(precision), fmt.Sprint(max(scale, 0)))

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

// columnsOf lists the columns that an expression names, in the form that
// mentioned reads.
func columnsOf(e ast.ExprNode) string {
	var v columnNames
	e.Accept(&v)
	return strings.Join(v, " ")
}

// schemaCheck is a CHECK constraint: its columns, and its condition.
type schemaCheck struct{ columns, condition string }

func checkOf(e ast.ExprNode) schemaCheck {
	var b strings.Builder
	if e.Restore(format.NewRestoreCtx(format.DefaultRestoreFlags, &b)) != nil {
		b.Reset()
	}
	return schemaCheck{columnsOf(e), b.String()}
}

type columnNames []string

// Enter implements ast.Visitor.
func (v *columnNames) Enter(n ast.Node) (ast.Node, bool) {
	if c, ok := n.(*ast.ColumnName); ok {
		*v = append(*v, quote(c.Name.O))
	}
	return n, false
}

// Leave implements ast.Visitor.
func (*columnNames) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// key adds an index; without a name it gets the server's.
func (t *schemaTable) key(name string, primary, unique bool, parts []*ast.IndexPartSpecification) error {
	k := schemaKey{name: name, primary: primary, unique: unique}
	for _, p := range parts {
		if p.Column == nil {
			k.partial = true
			k.order.part(t.Table, name, "", false)
			k.mentioned = append(k.mentioned, mentioned(t.Table, columnsOf(p.Expr))...)
			continue
		}
		at := t.named(p.Column.Name.O)
		if at < 0 {
			return fmt.Errorf("key on column %q, which does not exist in the table", p.Column.Name.O)
		}
		k.columns = append(k.columns, t.Columns[at].Name)
		k.partial = k.partial || p.Length > 0
		k.order.part(t.Table, name, t.Columns[at].Name, p.Length > 0)
	}
	taken := func(name string) bool {
		return strings.EqualFold(name, "PRIMARY") ||
			slices.ContainsFunc(t.keys, func(k schemaKey) bool { return strings.EqualFold(k.name, name) })
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

func (t *schemaTable) dropKey(name string) {
	t.keys = slices.DeleteFunc(t.keys, func(k schemaKey) bool { return strings.EqualFold(k.name, name) })
}

// finish fills in what depends on the whole of the table.
func (t *schemaTable) finish() {
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
		t.AddOrder(k.order.columns...)
		t.OtherUniques = t.OtherUniques || k.unique && k.partial
		if !k.unique && len(k.mentioned) > 0 {
			t.AddIndexed(k.name, "", func(c string) bool { return slices.Contains(k.mentioned, c) })
		}
		if k.unique && k.partial {
			t.AddPartialUnique(k.name, func(c string) bool { return slices.Contains(k.columns, c) || slices.Contains(k.mentioned, c) })
		}
		if k.unique && !k.partial {
			t.Uniques = append(t.Uniques, rewrite.Unique{Name: k.name, Primary: k.primary, Columns: k.columns})
		}
	}
	for i := range t.Columns {
		if expr, ok := t.generated[t.Columns[i].Name]; ok {
			t.Columns[i].DependsOn = mentioned(t.Table, expr.columns)
			t.AddGenerated(i, expr.condition)
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
		t.Partition(mentioned(t.Table, strings.Join(t.parted, " "))...)
	}
	seen := map[string]bool{}
	for _, k := range t.checks {
		check := rewrite.Check{Columns: mentioned(t.Table, k.columns), SQL: k.condition}
		t.Checks = append(t.Checks, check)
		for _, c := range check.Columns {
			if !seen[c] {
				seen[c] = true
				t.Checked = append(t.Checked, c)
			}
		}
	}
}

// kindOfDefault is defaultKind for an expression.
func kindOfDefault(e ast.ExprNode) rewrite.DefaultKind {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		switch e.FnName.L {
		case "current_timestamp", "now", "localtime", "localtimestamp":
			return rewrite.DefaultNow
		}
		return rewrite.DefaultComputed
	case ast.ValueExpr, *ast.UnaryOperationExpr:
		return rewrite.DefaultFixed
	}
	return rewrite.DefaultComputed
}
