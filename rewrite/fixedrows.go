package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A keyFinder finds the rows that a condition fixes by the values of a unique key.
type keyFinder struct {
	d       Dialect
	src     *source
	names   *names.Resolver
	consts  *constants
	written *writtenSources
}

// fixedRows finds a unique key that the top-level conjunction of where fixes to constants.
// The predicate it returns consists of those conjuncts alone: the rows it
// selects cannot change under the drain's lock, whatever else the statement asks.
func (kf *keyFinder) fixedRows(sc *names.Scope, b *names.Binding, where *ast.Expr) *rowset {
	if where == nil || b == nil || b.Table == nil {
		return nil
	}
	columns := map[string]*fixedColumn{}
	all := equalities(where)
	for _, c := range all {
		if f := kf.fixedColumn(sc, b, c); f != nil && f.beats(columns[f.name]) {
			columns[f.name] = f
		}
	}
	if b.Table.Counter != nil && len(b.Table.Counter.Key) == 0 && len(b.Table.Uniques) == 0 {
		return nil
	}
	var best *rowset
	for _, u := range slices.Concat(b.Table.Uniques, b.Table.PresentUniques()) {
		rows := kf.rowsFixedBy(b, &u, columns)
		if rows == nil {
			continue
		}
		rows.only = rows.only && len(all) == len(u.Columns)
		if best == nil || rows.single && !best.single || rows.primary && rows.single == best.single && !best.primary {
			best = rows
		}
	}
	return best
}

// fixedColumn is a column that a conjunct fixes to constants.
type fixedColumn struct {
	name   string
	single bool
	args   []Arg
	value  ast.Span // when single
	values int      // how many
	wider  bool     // the conjunct says more than that
	frag   fragment
}

// beats reports whether this conjunct is the one to fix the column by, and not another.
func (f *fixedColumn) beats(old *fixedColumn) bool {
	return old == nil || f.single && !old.single || f.single == old.single && old.wider
}

// fixedColumn returns the column that a conjunct fixes, nil if it fixes none.
func (kf *keyFinder) fixedColumn(sc *names.Scope, b *names.Binding, conjunct *ast.Expr) *fixedColumn {
	column, values := kf.equated(sc, b, conjunct)
	if column == nil || column.Kind != ast.ColumnRef {
		return nil
	}
	name := kf.names.TargetColumn(sc, b, column.Name)
	if name == "" || b.Table.IsSlotted(name) {
		return nil
	}
	f := &fixedColumn{name: name, frag: kf.equality(conjunct, b, name, values), wider: conjunct.End == 0 && len(values) > 1}
	if q := ast.Unparen(values[0]); len(values) == 1 && q.Kind == ast.Subquery && q.Op == "" {
		var only bool
		if values, only = kf.selfValues(sc, b.Table, name, q.Query); len(values) == 0 {
			return nil
		}
		f.wider = !only
		f.frag = kf.oneOf(b, name, values)
	}
	f.single, f.value, f.values = len(values) == 1, values[0].Span, len(values)
	if given := kf.givenKeys(sc, b, name, values); given != nil {
		values = given.values
		f.single, f.wider, f.values, f.frag = false, true, given.most, given.where
	}
	for _, v := range values {
		if !kf.consts.comparesExactly(b.Table.Column(name), v) {
			return nil
		}
		v.Walk(func(x *ast.Expr) bool {
			if a, found := kf.src.paramAt(x.Span); found && x.Kind == ast.Param {
				f.args = append(f.args, a)
			}
			return true
		})
	}
	return f
}

// equated returns what a conjunct has on the two sides of = or IN, nil if it is another one.
func (kf *keyFinder) equated(sc *names.Scope, b *names.Binding, conjunct *ast.Expr) (column *ast.Expr, values []*ast.Expr) {
	e := conjunct
	for e.Kind == ast.Paren {
		e = e.Args[0]
	}
	switch {
	case e.Kind == ast.Binary && e.Op == "=" && len(e.Args) == 2:
		if e.Args[0].Kind != ast.ColumnRef || kf.names.TargetColumn(sc, b, e.Args[0].Name) == "" {
			return e.Args[1], e.Args[:1]
		}
		return e.Args[0], e.Args[1:]
	case e.Kind == ast.In && !e.Negated && len(e.Args) > 1:
		return e.Args[0], e.Args[1:]
	}
	return nil, nil
}

// comparesExactly reports whether a value is a constant that the engine compares with the column as it would store it.
func (cs *constants) comparesExactly(c *schema.Column, v *ast.Expr) bool {
	if !ast.Constant(v) || v.Kind == ast.Null {
		return false
	}
	x := ast.Unparen(v)
	if !numericColumn(c) && x.Kind != ast.String && x.Kind != ast.Param && cs.d.Traits().LooseEquality {
		return false // MySQL: a number, which -'1' is as well, matches many strings
	}
	return x.Kind != ast.String || cs.fitsForm(cs.keyForm(c), x.Text)
}

// rowsFixedBy returns the rows of a unique key whose columns are all fixed; else nil.
func (kf *keyFinder) rowsFixedBy(b *names.Binding, u *schema.Unique, columns map[string]*fixedColumn) *rowset {
	rows := &rowset{
		binding: b,
		single:  true,
		primary: u.Primary,
		key:     u,
		values:  map[string]fragment{},
		only:    true,
		most:    1,
	}
	var parts []fragment
	for _, col := range u.Columns {
		f := columns[col]
		if f == nil {
			return nil
		}
		parts = append(parts, f.frag)
		rows.only = rows.only && !f.wider
		rows.values[col] = kf.src.cut(f.value)
		rows.single = rows.single && f.single
		rows.most = min(rows.most*f.values, maxKeys)
		for _, a := range f.args {
			rows.args = append(rows.args, keyArg{a, b.Table.Column(col)})
		}
	}
	if len(parts) == 0 {
		return nil
	}
	rows.where = join(parts, " AND ")
	return rows
}
