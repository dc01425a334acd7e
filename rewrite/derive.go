package rewrite

import (
	"errors"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// The derived form of a counter table.
//
// Where a reference cannot be replaced by a total in its place, the source
// itself is replaced by a query that has the table's columns, the counters as
// totals:
//
//	posts AS p   becomes   (SELECT p.id, p.title, <total of views> AS views FROM posts AS p) AS p
//
// It has the same rows, and columns of the same names, order, types and values
// as the table would have without slots, under the same label. So whatever the
// engine's rules make of a table with these columns (columns merged by USING
// and NATURAL, aliases that hide columns, grouping sets, names of result
// columns), they make of it too, and no expression of the statement is
// touched. The application's own SQL of the source stays inside, hints and
// partitions included.
//
// What a table has and a query has not (hidden and system columns, a key to
// group by) is looked for in underivable, throughDerived, systemColumn and
// byKey: a statement that needs it is drained for.

// reading walks a statement with new readers until no further source needs to
// be derived. It ends: each round derives one more.
func (p *planning) reading(start func() *reader, walk func(*reader) error) (*reader, error) {
	for {
		r := start()
		err := walk(r)
		var d *names.DeriveError
		if !errors.As(err, &d) {
			if err == nil && r.found.truth && len(r.edits) > 0 && p.d.Traits().Defects.Has(QuantifiedNull) {
				err = names.Opaque("a comparison with ANY or ALL is a value: MariaDB may lose its NULL beside the sum of slots")
			}
			return r, err
		}
		if why := p.derive(d); why != "" {
			return r, names.Opaque(d.Reason + ", and " + why)
		}
	}
}

// derive marks the sources that an error asks for; why says what a derived
// form of one of them lacks.
func (p *planning) derive(d *names.DeriveError) (why string) {
	for _, b := range d.Bindings {
		if why := p.names.Underivable(b); why != "" {
			return why
		}
	}
	for _, b := range d.Bindings {
		p.names.Derive(b.Source, d.Reason)
	}
	return ""
}

// derivedSource writes the derived form around a source.
func (r *reader) derivedSource(sc *names.Scope, s *ast.Source) {
	why, ok := r.p.names.Derived[s]
	if !ok {
		return
	}
	for _, b := range sc.Bindings {
		if b.Source != s {
			continue
		}
		q := r.p.names.Qualifier(b)
		r.note(b.Table)
		r.addStar(b.Table)
		tail := ""
		if r.keptSeparate(sc) {
			tail = r.p.d.Traits().Unmerged
		}
		r.edits = append(r.edits,
			edit{ast.At(s.Ref.Start), "(SELECT " + strings.Join(r.totals(b.Table, q, nil), ", ") + " FROM "},
			edit{ast.At(s.Ref.End), tail + ") AS " + q})
		if r.reason == "" {
			r.reason = "a derived table stands for " + b.Table.Name + ": " + why
		}
	}
}

// keptSeparate reports whether a derived form is not to be merged into the block, as
// MariaDB does with derived tables where it can. Into a block that groups it must not: a HAVING that names an expression which is
// grouped by and not selected finds no rows (10.11.14), groups by a DECIMAL that may be NULL are mixed up, of two expressions that hold the
// same query the grouped one is not found, and a prepared statement that runs for the second time no longer knows the total (error 1055).
func (r *reader) keptSeparate(sc *names.Scope) bool {
	return groupingSets(r.p.src) ||
		r.p.d.Traits().StrictGroups && (sc.Grouped || r.p.windowed() && (comparesQuery(r.p.src) || extends(r.p.src)))
}

// comparesQuery reports whether the statement may look something up in a subquery. Where a
// window computes over a column of a query that it has merged, MariaDB has that
// column compared with the subquery before there is a value in it.
func comparesQuery(src *source) bool {
	return src.hasWord("IN") || src.hasWord("ANY") || src.hasWord("SOME") || src.hasWord("ALL")
}

// totals writes the columns of a table, counters as totals, as result columns
// of block; nil is the block of a derived form.
func (r *reader) totals(t *schema.Table, q string, block *ast.Select) []string {
	var out []string
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Hidden:
		case t.IsSlotted(c.Name) && !r.readsBase(t):
			out = append(out, r.resultColumn(t, q, c.Name, block)+" AS "+r.p.d.Quote(c.Name))
		default:
			out = append(out, q+"."+r.p.d.Quote(c.Name))
		}
	}
	return out
}

func (r *reader) addStar(t *schema.Table) {
	if !slices.Contains(r.stars, t) {
		r.stars = append(r.stars, t)
	}
}

// throughDerived looks at a name that may mean a derived source's column. One
// that names the table's schema loses it, with the column's own name left as
// it is; one that a query does not have cannot be kept.
func (b *blockReader) throughDerived(e *ast.Expr) (done bool, err error) {
	if len(b.p.names.Derived) == 0 {
		return false, nil
	}
	x := b.labelled(e.Name, true)
	if x == nil || !x.Derived {
		return false, nil
	}
	last := e.Name[len(e.Name)-1]
	if len(e.Name) == 1 {
		return false, nil
	}
	if !b.p.names.DerivedHas(x, last) {
		return false, names.Opaque(b.p.names.Lacks(x, last))
	}
	if len(e.Name) > 2 {
		b.r.edits = append(b.r.edits, edit{e.Span, b.p.names.Qualifier(x) + "." + b.p.d.Quote(last.Name)})
	}
	return true, nil
}

// systemColumn finds a bare name that an engine gives to every table.
func (b *blockReader) systemColumn(name ast.Ident) error {
	if len(b.p.names.Derived) == 0 {
		return nil
	}
	for _, system := range b.p.d.Traits().SystemColumns {
		if !b.p.names.SameLabel(name, ast.Ident{Name: system}) {
			continue
		}
		for s := b.sc; s != nil; s = s.Parent {
			for _, x := range s.Bindings {
				if x.Derived && !b.p.names.DerivedHas(x, name) {
					return names.Opaque(b.p.names.Lacks(x, name))
				}
			}
		}
	}
	return nil
}

// byKey finds a block that may rely on what PostgreSQL knows of a table and
// not of a query: that columns which are not grouped have one value once the
// primary key is grouped.
func (b *blockReader) byKey() error {
	if !b.p.d.Traits().GroupsByKey || len(b.q.GroupBy) == 0 {
		return nil
	}
	for _, x := range b.sc.Bindings {
		if x.Derived && b.mayGroupByKey(x) {
			return names.Opaque(b.p.names.Derived[x.Source] + ", and a derived table has no primary key to group by")
		}
	}
	return nil
}

// mayGroupByKey reports whether GROUP BY may name a column of the primary key of x: also by a position, or an alias.
func (b *blockReader) mayGroupByKey(x *names.Binding) (may bool) {
	for _, g := range b.q.GroupBy {
		g.Walk(func(e *ast.Expr) bool {
			c := ""
			if e.Kind == ast.ColumnRef {
				c = b.columnIn(x, e.Name)
			}
			isKey := slices.ContainsFunc(x.Table.Uniques, func(u schema.Unique) bool { return u.Primary && slices.Contains(u.Columns, c) })
			may = may || isKey || e.Kind == ast.Number || e.Kind == ast.ColumnRef && c == "" && len(e.Name) == 1
			return !may
		})
	}
	return may
}

// columnIn returns the stored name of x's column that a reference may mean, or
// "".
func (b *blockReader) columnIn(x *names.Binding, name []ast.Ident) string {
	if len(name) > 1 && !b.p.names.SameLabel(name[len(name)-2], x.Label) {
		return ""
	}
	for i, l := range b.p.names.Labels(x) {
		if b.p.names.SameLabel(name[len(name)-1], l) {
			return x.Table.Columns[i].Name // none is hidden: underivable
		}
	}
	return ""
}

// labelled finds the source that qualifies a name, in the innermost block that
// has one of that label; column reports whether the last part of the name is one.
func (b *blockReader) labelled(name []ast.Ident, column bool) *names.Binding {
	n := len(name)
	if column {
		n--
	}
	if n == 0 {
		return nil
	}
	for s := b.sc; s != nil; s = s.Parent {
		b.p.names.Work += 1 + len(s.Bindings)
		for _, x := range s.Bindings {
			if !b.p.names.SameLabel(name[n-1], x.Label) || n > 1 && x.Table != nil && !b.p.d.SameTable(name[n-2], x.Table.Schema) {
				continue
			}
			return x
		}
	}
	return nil
}
