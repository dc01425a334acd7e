package postgres

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	pgquery "github.com/sqlc-dev/oliphant"
	"github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	dialect "github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// table is a table of a schema file while that is read.
type table struct {
	*schema.Table
	keys     []index // as created
	pending  []index // of the statement at hand
	watching []index // indexes that are not unique
	checks   []check
	partOf   *table
	parted   []string // what it is partitioned by
	parents  []*table // partOf, or those that it inherits from
	secured  bool
}

// index is an index.
type index struct {
	name     string
	label    string // the end of the name that the server chooses
	primary  bool
	columns  []string
	named    []string // parts of that name
	watched  []string // columns of a predicate or an expression
	computes int      // how many predicates and expressions it has
	exact    bool     // over columns alone, for all rows, checked at once
	present  bool     // or for all rows without a NULL in the key
	ordered  bool     // rows can be read in the order of its columns
}

func isDescending(e *ast.IndexElem) bool { return e.GetOrdering() == ast.SortByDir_SORTBY_DESC }

// mentioned lists the columns that the index looks at: all, where it looks at the row as a
// whole.
func (k *index) mentioned(t *schema.Table) []string {
	if slices.Contains(k.watched, "") {
		return dialect.ColumnNames(t, "")
	}
	return slices.Concat(k.columns, k.watched)
}

// check is a CHECK, an exclusion or a checked domain: the columns it
// looks at, "" for all.
type check struct {
	name      string
	columns   []string
	condition string
}

// condition writes the condition of a CHECK constraint, "" for one that need not hold.
func condition(k *ast.Constraint) string {
	const before = "SELECT WHERE "
	query := &ast.SelectStmt{WhereClause: k.RawExpr, LimitOption: ast.LimitOption_LIMIT_OPTION_DEFAULT, Op: ast.SetOperation_SETOP_NONE}
	sql, err := pgquery.Deparse(&ast.ParseResult{Stmts: []*ast.RawStmt{{Stmt: &ast.Node{Node: &ast.Node_SelectStmt{SelectStmt: query}}}}})
	if err != nil || k.SkipValidation || !strings.HasPrefix(sql, before) {
		return ""
	}
	return strings.TrimPrefix(sql, before)
}

func (t *table) rename(from, to string) {
	all := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			if list[i] == from {
				list[i] = to
			}
		}
		return list
	}
	for i := range t.Columns {
		if t.Columns[i].Name == from {
			t.Columns[i].Name = to
		}
		t.Columns[i].DependsOn = all(t.Columns[i].DependsOn)
	}
	for i := range t.keys {
		t.keys[i].columns, t.keys[i].watched = all(t.keys[i].columns), all(t.keys[i].watched)
	}
	for i := range t.checks {
		t.checks[i].columns = all(t.checks[i].columns)
	}
	t.ForeignKeys.Columns, t.parted = all(t.ForeignKeys.Columns), all(t.parted)
}

// column adds a column, or merges it with an inherited one.
func (s *file) column(t *table, n *ast.ColumnDef) error {
	c := t.Column(n.Colname)
	if c == nil {
		t.Columns = append(t.Columns, schema.Column{Name: n.Colname, Nullable: true})
		c = &t.Columns[len(t.Columns)-1]
	}
	if n.TypeName != nil {
		if err := s.describe(t, c, n.TypeName, n.CollClause); err != nil {
			return err
		}
	}
	last := -1
	for _, node := range n.Constraints {
		k := node.GetConstraint()
		switch k.Contype {
		case ast.ConstrType_CONSTR_NOTNULL:
			c.Nullable = false
		case ast.ConstrType_CONSTR_DEFAULT:
			c.Identity, c.HasDefault = isNextval(k.RawExpr), isValue(k.RawExpr)
		case ast.ConstrType_CONSTR_IDENTITY:
			c.Identity, c.Always, c.Nullable = true, k.GeneratedWhen == generatedAlways, false
		case ast.ConstrType_CONSTR_GENERATED:
			c.Generated = true
			c.DependsOn = columnsIn(t, k.RawExpr)
		case ast.ConstrType_CONSTR_PRIMARY, ast.ConstrType_CONSTR_UNIQUE:
			key := *constraintKey(k)
			key.columns = []string{n.Colname}
			key.named = key.columns
			last = len(t.pending)
			t.pending = append(t.pending, key)
		case ast.ConstrType_CONSTR_ATTR_DEFERRABLE:
			if last >= 0 {
				t.pending[last].exact = false
			}
		default:
			if err := s.constraint(t, k); err != nil {
				return err
			}
			if k.Contype == ast.ConstrType_CONSTR_FOREIGN {
				t.Refer(n.Colname)
			}
		}
	}
	return nil
}

func isNextval(e *ast.Node) bool {
	_, name := lastTwo(e.GetFuncCall().GetFuncname())
	return name == "nextval"
}

func constraintKey(k *ast.Constraint) *index {
	key := &index{name: k.Conname, label: "key", exact: !k.Deferrable, ordered: true}
	if k.Contype == ast.ConstrType_CONSTR_PRIMARY {
		key.primary, key.label = true, "pkey"
	}
	return key
}

func (s *file) constraint(t *table, k *ast.Constraint) error {
	switch k.Contype {
	case ast.ConstrType_CONSTR_CHECK:
		columns := columnsIn(t, k.RawExpr)
		if len(columns) == 0 {
			columns = []string{""}
		}
		t.checks = append(t.checks, check{k.Conname, columns, condition(k)})
	case ast.ConstrType_CONSTR_PRIMARY, ast.ConstrType_CONSTR_UNIQUE:
		if k.Indexname != "" {
			for i := range t.keys {
				if t.keys[i].name == k.Indexname {
					t.keys[i].primary = k.Contype == ast.ConstrType_CONSTR_PRIMARY
					t.keys[i].label = "key"
					t.keys[i].exact = t.keys[i].exact && !k.Deferrable
					if k.Conname != "" {
						t.keys[i].name = k.Conname
					}
				}
			}
			return nil
		}
		key := constraintKey(k)
		for _, n := range k.Keys {
			key.columns = append(key.columns, n.GetString_().GetSval())
		}
		key.named = slices.Clone(key.columns)
		for _, n := range k.Including {
			key.named = append(key.named, n.GetString_().GetSval())
		}
		t.pending = append(t.pending, *key)
	case ast.ConstrType_CONSTR_EXCLUSION:
		c := check{name: k.Conname}
		for _, n := range k.Exclusions {
			e := n.GetList().GetItems()[0].GetIndexElem()
			c.columns = append(c.columns, e.GetName()) // "": an expression
		}
		c.columns = append(c.columns, columnsIn(t, k.WhereClause)...)
		t.checks = append(t.checks, c)
	case ast.ConstrType_CONSTR_FOREIGN:
		for _, n := range k.FkAttrs {
			t.Refer(n.GetString_().GetSval())
		}
		if k.FkUpdAction != "a" || k.FkDelAction != "a" {
			s.foreign = append(s.foreign, k.Pktable)
		}
	case ast.ConstrType_CONSTR_NOTNULL: // table constraint, since version 18
		for _, n := range k.Keys {
			if c := t.Column(n.GetString_().GetSval()); c != nil {
				c.Nullable = false
			}
		}
	}
	return nil
}

// index adds an index of CREATE INDEX; others than unique ones only for their
// names.
func (s *file) index(n *ast.IndexStmt) error {
	t, err := s.table(n.Relation)
	if err != nil {
		return err
	}
	if n.IfNotExists && s.names[t.Schema+"."+n.Idxname] {
		return nil
	}
	key := index{name: n.Idxname, label: "idx", exact: n.WhereClause == nil, present: n.WhereClause != nil}
	key.ordered = n.AccessMethod == "btree"
	for i, p := range slices.Concat(n.IndexParams, n.IndexIncludingParams) {
		e := p.GetIndexElem()
		label := e.Name
		if e.Name == "" {
			label = "expr"
			if f := e.Expr.GetFuncCall(); f != nil {
				_, label = lastTwo(f.Funcname)
			}
			key.exact, key.present = false, false
			key.computes++
			key.watched = append(key.watched, columnsIn(t, e.Expr)...)
		}
		for j, base := 1, label; slices.Contains(key.named, label); j++ {
			label = fmt.Sprintf("%s%d", base, j)
		}
		key.named = append(key.named, label)
		if i < len(n.IndexParams) && e.Name != "" {
			key.columns = append(key.columns, e.Name)
			key.ordered = key.ordered && isDescending(e) == isDescending(n.IndexParams[0].GetIndexElem())
		}
	}
	if n.WhereClause != nil {
		key.computes++
		key.watched = append(key.watched, columnsIn(t, n.WhereClause)...)
		key.present = key.present && dialect.NotNullOnly(n.WhereClause, key.columns)
	}
	if !n.Unique {
		s.name(t, &key)
		t.watching = append(t.watching, key)
		return nil
	}
	t.pending = append(t.pending, key)
	return s.flush(t)
}

// finish fills in what depends on the whole of the table.
func (t *table) finish() {
	if t.secured {
		t.Triggers.Update, t.Triggers.Delete, t.Triggers.Insert, t.Triggers.Ruled = true, true, true, true
	}
	sort.SliceStable(t.keys, func(i, j int) bool { return t.keys[i].primary && !t.keys[j].primary })
	checked := map[string]bool{}
	for _, k := range slices.Concat(t.keys, t.watching) {
		if k.ordered && k.computes == 0 {
			t.AddOrder(k.columns...)
		}
	}
	for _, k := range t.keys {
		if !k.exact {
			all := k.mentioned(t.Table)
			t.Checks = append(t.Checks, schema.Check{Columns: all})
			for _, c := range all {
				checked[c] = true
			}
		}
		switch {
		case !k.exact || t.Storage.Inherited:
			t.AddPartialUnique(k.name, func(c string) bool { return slices.Contains(k.mentioned(t.Table), c) })
			if k.present && !t.Storage.Inherited {
				t.MarkPresent(k.name)
			}
		default:
			t.Uniques = append(t.Uniques, schema.Unique{Name: k.name, Primary: k.primary, Columns: k.columns, Index: k.label == "idx"})
		}
	}
	for _, k := range t.checks {
		check := schema.Check{Columns: k.columns, SQL: k.condition}
		if slices.Contains(k.columns, "") {
			check.Columns = dialect.ColumnNames(t.Table, "")
		}
		t.Checks = append(t.Checks, check)
		for _, c := range k.columns {
			checked[c] = true
		}
	}
	for _, k := range t.watching {
		for range k.computes {
			t.AddIndexed(k.name, "", func(c string) bool { return slices.Contains(k.mentioned(t.Table), c) })
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Generated && len(c.DependsOn) == 0 {
			c.DependsOn = dialect.ColumnNames(t.Table, c.Name)
		}
		sort.Strings(c.DependsOn)
		if c.Generated {
			t.AddGenerated(i, "")
		}
		if checked[c.Name] || checked[""] {
			t.Checked = append(t.Checked, c.Name)
		}
	}
}

// columnsIn lists the columns of t that an expression names, and "" when it
// names the row as a whole.
func columnsIn(t *table, e *ast.Node) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if e == nil {
		return nil
	}
	_ = protorange.Range(e.ProtoReflect(), func(p protopath.Values) error {
		m, ok := p.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		ref, ok := m.Interface().(*ast.ColumnRef)
		if !ok {
			return nil
		}
		_, name := lastTwo(ref.Fields)
		if name == t.Name && t.Column(name) == nil {
			name = "" // also of t.*, whose last part is no name
		}
		add(name)
		return protorange.Break // not what is below it
	})
	return out
}

// isValue reports whether a DEFAULT gives a value of its own: not NULL, and not a
// sequence's next one.
func isValue(n *ast.Node) bool {
	if n == nil || isNextval(n) {
		return false
	}
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	return n.GetAConst() == nil || !n.GetAConst().Isnull
}
