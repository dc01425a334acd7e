package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file edits select lists: items, the names they have without an alias,
// and *.

func (b *blockReader) item(it ast.Item) error {
	if it.Expr == nil {
		return nil
	}
	if it.Expr.Kind == ast.Star {
		return b.star(it)
	}
	before := len(b.r.edits)
	if err := b.expr(it.Expr, inItems); err != nil {
		return err
	}
	if len(b.r.edits) == before || it.Alias != nil {
		return nil
	}
	if e := it.Expr; e.Kind == ast.ColumnRef {
		if x := b.labelled(e.Name, true); x != nil && x.Derived {
			return nil // it is named as before
		}
	}
	if x := ast.Unparen(it.Expr); x.Kind == ast.ColumnRef {
		t, err := b.p.names.Resolve(b.sc, x.Name)
		if err == nil && t != nil {
			err = b.named(t.Binding)
		}
		if err != nil {
			return err
		}
	}
	name, ok := itemNamesOf(b).itemName(it)
	if !ok {
		return names.Derivable("cannot tell the name of a result column that has no alias", names.AllOf(b.sc)...)
	}
	if name == "" {
		return nil
	}
	// A name that was none of the query's own aliases becomes one, and ORDER
	// BY, GROUP BY and HAVING look among those: it must not hide another.
	if b.aliased(name) {
		return names.Derivable("two result columns are named "+name, names.AllOf(b.sc)...)
	}
	b.r.edits = append(b.r.edits, edit{ast.At(it.Expr.End), " AS " + b.p.d.Quote(name)})
	return nil
}

// named asks for the derived form of a source in a join in parentheses, where
// the engine then finds names for its columns: SQLite takes such a join for a
// query, and calls the second column of a name "views:1".
func (b *blockReader) named(x *names.Binding) error {
	if x.Nested && b.p.d.Traits().NestedNames {
		return names.Derivable("a join in parentheses names its columns", x)
	}
	return nil
}

// aliased reports whether the name is an alias among the items of a block whose
// ORDER BY, GROUP BY or HAVING may name it.
func (b *blockReader) aliased(name string) bool {
	if b.q == nil || len(b.q.OrderBy)+len(b.q.GroupBy) == 0 && b.q.Having == nil {
		return false
	}
	return b.isAlias(ast.Ident{Name: name, Quoted: true})
}

// isAlias reports whether an item of the block has that alias.
func (b *blockReader) isAlias(name ast.Ident) bool {
	if b.q == nil {
		return false
	}
	for _, o := range b.q.Items {
		if o.Alias != nil && b.p.names.SameLabel(*o.Alias, name) {
			return true
		}
	}
	return false
}

// star expands * and t.* over counter tables, with totals in place of counters.
func (b *blockReader) star(it ast.Item) error {
	star := it.Expr
	if len(star.Name) > 1 {
		if x := b.labelled(star.Name, false); x != nil && x.Derived {
			b.r.edits = append(b.r.edits, edit{star.Span, b.p.names.Qualifier(x) + ".*"})
			return nil
		}
	}
	if !b.starHasTotals(star) {
		return nil
	}
	if b.r.aggregates > 0 && b.p.d.Traits().StrictGroups {
		return names.Derivable("* over a counter in a subquery inside an aggregate", b.sc.Bindings...) // as in column
	}
	if b.sc.Natural || len(b.sc.Using) > 0 {
		// The columns are fewer than the tables', and those that are merged
		// take their values from either side in an outer join, with SQLite
		// for t.* too.
		if len(star.Name) == 0 || b.q != nil && outerJoins(b.q.From) {
			return names.Derivable("* over a join with USING or NATURAL", b.sc.Bindings...)
		}
	}
	parts, err := b.starColumns(star)
	if err != nil {
		return err
	}
	list := strings.Join(parts, ", ")
	if b.q != nil && b.q.Table {
		list = "SELECT " + list + " FROM"
		b.p.queries.tableWord = true
	}
	b.r.replace(star.Span, list, b.sc)
	return nil
}

// starCovers reports whether a * stands for the columns of a source.
func (b *blockReader) starCovers(star *ast.Expr, s *names.Binding) bool {
	return len(star.Name) == 0 || b.p.names.SameLabel(star.Name[len(star.Name)-1], s.Label)
}

// starHasTotals reports whether a * stands for counters that are read as totals.
func (b *blockReader) starHasTotals(star *ast.Expr) bool {
	has := false
	for _, s := range b.sc.Bindings {
		if b.starCovers(star, s) {
			has = has || s.Counts && !b.r.readsBase(s.Table)
		}
	}
	return has
}

// starColumns writes what a * stands for, source by source.
func (b *blockReader) starColumns(star *ast.Expr) (parts []string, err error) {
	for _, s := range b.sc.Bindings {
		if !b.starCovers(star, s) {
			continue
		}
		q := b.p.names.Qualifier(s)
		if !s.Counts {
			parts = append(parts, q+".*")
			continue
		}
		if len(s.Columns) > 0 {
			return nil, names.Derivable("counter table "+s.Table.Name+" has column aliases", s)
		}
		if b.r.readsBase(s.Table) {
			parts = append(parts, q+".*")
			continue
		}
		if err := b.expandStar(s); err != nil {
			return nil, err
		}
		parts = append(parts, b.r.totals(s.Table, q, b.q)...)
	}
	return parts, nil
}

// expandStar notes that a * is expanded over a source, or says why it cannot be.
func (b *blockReader) expandStar(s *names.Binding) error {
	if err := b.companion(s, true); err != nil {
		return err
	}
	if err := b.named(s); err != nil {
		return err
	}
	b.r.note(s.Table)
	b.r.addStar(s.Table)
	for i := range s.Table.Columns {
		// Which of two columns of one name ORDER BY means depends on
		// whether it is a column or an alias.
		if c := &s.Table.Columns[i]; s.Table.IsCounter(c.Name) && b.aliased(c.Name) {
			return names.Derivable("two result columns are named "+c.Name, s)
		}
	}
	return nil
}

// wholeItem reports whether e is a whole select item.
func (b *blockReader) wholeItem(e *ast.Expr) bool {
	if b.q == nil {
		return false
	}
	b.p.names.Work += len(b.q.Items)
	for _, it := range b.q.Items {
		x := it.Expr
		for x != nil && x.Kind == ast.Paren {
			x = x.Args[0]
		}
		if x == e {
			return true
		}
	}
	return false
}

// inAggregateItem reports whether e is inside a select item that is nothing but an aggregate, and no window function.
func (b *blockReader) inAggregateItem(e *ast.Expr) bool {
	b.p.names.Work += len(b.q.Items)
	return slices.ContainsFunc(b.q.Items, func(it ast.Item) bool {
		return it.Expr != nil && it.Expr.Start <= e.Start && e.End <= it.Expr.End &&
			ast.Unparen(it.Expr).Aggregate && !(b.p.windowed() && b.p.src.hasWordIn(it.Expr.Span, "OVER"))
	})
}
