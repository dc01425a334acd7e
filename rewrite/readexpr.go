package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// A blockReader edits the expressions of one SELECT block.
type blockReader struct {
	r  *reader
	p  *planning
	sc *names.Scope
	q  *ast.Select // nil outside a block (ON, DML)
}

// in returns a reader of expressions that stand in a scope, and in the block q if it is not nil.
func (r *reader) in(sc *names.Scope, q *ast.Select) *blockReader { return &blockReader{r, r.p, sc, q} }

// expr edits one expression.
func (b *blockReader) expr(e *ast.Expr, in clause) error {
	if e == nil {
		return nil
	}
	if in == inGroup && e.Kind == ast.ColumnRef && len(e.Name) == 1 && b.p.d.Traits().HavingAlias {
		// Of two result columns of the name MySQL takes the first, or the one
		// that is a table's column and no expression.
		if edited, derived := itemNamesOf(b).twice(e.Name[0]); edited || derived {
			return names.Opaque("two result columns are named " + e.Name[0].Name)
		}
	}
	if skip, err := itemNamesOf(b).outputName(e, in, true); skip || err != nil {
		return err
	}
	return b.walk(e, in, false)
}

func (b *blockReader) walk(e *ast.Expr, in clause, aggregate bool) error {
	switch e.Kind {
	case ast.ColumnRef:
		return b.column(e, in, aggregate)
	case ast.Star:
		return b.starArgument(e)
	case ast.Subquery:
		if aggregate {
			b.r.aggregates++
			defer func() { b.r.aggregates-- }()
		}
		before := b.r.outward
		if err := b.r.query(b.sc, e.Query); err != nil {
			return err
		}
		if b.r.outward > before {
			b.keepExists(e)
		}
	}
	if x := nullTest(e); x != nil && in == inPredicate {
		b.r.nullTested = x
	}
	b.r.found.truth = b.r.found.truth || in != inPredicate && quantified(e)
	for i, a := range e.Args {
		before := len(b.r.edits)
		if err := b.walk(a, in, aggregate || e.Aggregate); err != nil {
			return err
		}
		if a != nil && a.Label != nil && len(b.r.edits) > before {
			b.r.edits = append(b.r.edits, edit{ast.At(a.Label.At), " AS " + b.p.d.Quote(a.Label.Name)})
		}
		if i == 0 && isRow(a) && len(e.Args) == 2 && e.Args[1].Kind == ast.Subquery && b.p.d.Traits().Defects.Has(RowSubquery) &&
			(len(b.r.edits) > before || b.mayMerge()) {
			return names.Opaque("a row that may hold a counter is compared with a subquery")
		}
		if i == 1 && b.p.d.Traits().Defects.Has(RowOfOne) {
			if err := b.lookedUp(e, len(b.r.edits) > before); err != nil {
				return err
			}
		}
	}
	return nil
}

//nolint:funlen // a list of rules, each with its reason
func (b *blockReader) column(e *ast.Expr, in clause, aggregate bool) error {
	if done, err := b.throughDerived(e); done || err != nil {
		return err
	}
	if err := b.field(e); err != nil {
		return err
	}
	t, err := b.p.names.Resolve(b.sc, e.Name)
	if err != nil {
		return err
	}
	if t == nil && len(e.Name) == 1 {
		// No counter; but it may be the name of a result column that is one.
		if skip, err := itemNamesOf(b).outputName(e, in, false); skip || err != nil {
			return err
		}
		return b.systemColumn(e.Name[0])
	}
	if t != nil && t.WholeRow {
		return b.wholeRow(t.Binding)
	}
	if t == nil || t.Column == nil || b.r.readsBase(t.Binding.Table) || e == b.r.nullTested && b.nullAsBase(t) {
		return nil
	}
	if skip, err := itemNamesOf(b).outputName(e, in, false); skip || err != nil {
		return err
	}
	if t.Binding.Table.Companion(t.Column.Name) != nil {
		if err := b.companion(t.Binding, b.wholeItem(e)); err != nil {
			return err
		}
	}
	switch {
	case aggregate && !b.sc.Holds(t.Binding):
		// Such an aggregate is the outer query's; a subquery inside it could
		// make it this one's. MariaDB refuses it over a query that it has merged when a prepared statement runs again (error 1111).
		return names.Opaque("an aggregate over an outer query's counter")
	case in == inHaving && !aggregate && b.p.d.Traits().HavingAlias:
		return names.Derivable("HAVING names a counter that is neither aggregated nor selected", t.Binding)
	case !aggregate && b.q != nil && len(b.q.GroupBy) > 0 && groupingSets(b.p.src):
		// Which of the expressions are the grouped one, and NULL in the rows
		// that sum up, the engines decide in ways of their own.
		return names.Derivable("grouping sets over a counter", t.Binding)
	case in == inGroup && b.p.d.Traits().HavingAlias:
		// Under ONLY_FULL_GROUP_BY a column that is selected has to be one that
		// is grouped by; an expression is no column.
		return names.Derivable("GROUP BY names a counter", t.Binding)
	}
	if t.Binding.Scope.Ordering && b.p.d.Traits().StrictDistinct {
		// The total depends on the base value and on the key, of which the first is no longer among the items.
		return names.Derivable("rows are distinct, and ORDER BY names a counter", t.Binding)
	}
	if b.p.d.Traits().StrictGroups {
		switch {
		case in != inPredicate && t.Binding.Scope.Grouped && !(aggregate && b.sc.Holds(t.Binding)):
			// The total depends on the key, which is not grouped by: under
			// ONLY_FULL_GROUP_BY the engine refuses it even where the counter is.
			return names.Derivable("rows are grouped, and a counter is named outside of aggregates", t.Binding)
		case in == inItems && aggregate && b.q != nil && len(b.q.GroupBy) > 0 && !b.inAggregateItem(e):
			// Of an item that is more than an aggregate, MariaDB wants every column that a subquery names to be grouped by,
			// under ONLY_FULL_GROUP_BY: the key in the total is not, even inside the aggregate.
			return names.Derivable("rows are grouped, and a counter is named in an aggregate that is part of an expression", t.Binding)
		case b.r.aggregates > 0:
			// MariaDB takes the sum of the slots for an aggregate of the block,
			// if the subquery has aggregates of its own.
			return names.Derivable("a counter is named in a subquery inside an aggregate", t.Binding)
		case len(e.Name) == 1 && b.p.windowed() && b.isAlias(e.Name[0]) && !b.wholeItem(e):
			// MariaDB finds names of result columns in ORDER BY and PARTITION BY
			// of windows.
			return names.Derivable("alias "+e.Name[0].Name+" may hide the counter of that name in a window", t.Binding)
		}
	}
	b.r.found.counter = b.r.found.counter || t.Binding.Table.IsCounter(t.Column.Name)
	b.r.note(t.Binding.Table)
	if !b.sc.Holds(t.Binding) {
		b.r.outward++
	}
	total := b.r.total(t.Binding.Table, b.p.names.Qualifier(t.Binding), t.Column.Name, true)
	if in == inItems && b.wholeItem(e) {
		total = b.r.resultColumn(t.Binding.Table, b.p.names.Qualifier(t.Binding), t.Column.Name, b.q)
	}
	b.r.replace(e.Span, total, t.Binding.Scope)
	return nil
}

// subqueries looks only into the subqueries of an expression.
func (r *reader) subqueries(sc *names.Scope, e *ast.Expr) error {
	var err error
	e.Walk(func(x *ast.Expr) bool {
		if err == nil && x.Kind == ast.Subquery {
			err = r.query(sc, x.Query)
		}
		return err == nil
	})
	return err
}
