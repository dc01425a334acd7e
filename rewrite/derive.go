package rewrite

import (
	"errors"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
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

// errDerive is an opaque reason that goes away once the counter tables of the
// given sources are derived.
type errDerive struct {
	reason   string
	bindings []*binding
	separate bool // they are not to be merged into the block, see keptSeparate
}

func (e *errDerive) Error() string { return e.reason }

// derivable returns an error for what prevents substitution, one
// that derived forms of the sources among bs that are counter tables cure.
func derivable(reason string, bs ...*binding) error {
	e := &errDerive{reason: reason}
	for _, b := range bs {
		if b.counts {
			e.bindings = append(e.bindings, b)
		}
	}
	if len(e.bindings) == 0 {
		return opaque(reason)
	}
	return e
}

// derives reports whether an error names a source to derive.
func derives(err error) bool {
	var d *errDerive
	return errors.As(err, &d)
}

// under lists the sources of a join.
func (s *scope) under(join *ast.Source) []*binding {
	if join == nil {
		return nil
	}
	var out []*binding
	for _, b := range s.bindings {
		if b.source == join {
			out = append(out, b)
		}
	}
	return append(append(out, s.under(join.Left)...), s.under(join.Right)...)
}

// reading walks a statement with new readers until no further source needs to
// be derived. It ends: each round derives one more.
func (p *planning) reading(start func() *reader, walk func(*reader) error) (*reader, error) {
	for {
		r := start()
		err := walk(r)
		var d *errDerive
		if !errors.As(err, &d) {
			if err == nil && r.found.truth && len(r.edits) > 0 && p.d.Traits().Defects.Has(QuantifiedNull) {
				err = opaque("a comparison with ANY or ALL is a value: MariaDB may lose its NULL beside the sum of slots")
			}
			return r, err
		}
		if why := p.derive(d); why != "" {
			return r, opaque(d.reason + ", and " + why)
		}
	}
}

// derive marks the sources that an error asks for; why says what a derived
// form of one of them lacks.
func (p *planning) derive(d *errDerive) (why string) {
	for _, b := range d.bindings {
		if why := p.names.underivable(b); why != "" {
			return why
		}
	}
	for _, b := range d.bindings {
		p.names.derive(b.source, d.reason)
		if d.separate {
			if p.queries.separate == nil {
				p.queries.separate = map[*ast.Source]bool{}
			}
			p.queries.separate[b.source] = true
		}
	}
	return ""
}

// underivable returns why a source cannot be replaced by a query, or "".
func (n *resolver) underivable(b *binding) string {
	if b.source.Ref.End == 0 {
		return b.label.Name + " cannot be replaced by a derived table"
	}
	for i := range b.table.Columns {
		if b.table.Columns[i].Hidden {
			return "a derived table has no hidden columns"
		}
	}
	// Without an alias the label stays, but the schema goes that tells it
	// from another table of that name.
	for _, x := range b.scope.bindings {
		if x != b && n.sameLabel(x.label, b.label) {
			return "two sources are named " + b.label.Name
		}
	}
	return ""
}

// derivedSource writes the derived form around a source.
func (r *reader) derivedSource(sc *scope, s *ast.Source) {
	why, ok := r.p.names.derived[s]
	if !ok {
		return
	}
	for _, b := range sc.bindings {
		if b.source != s {
			continue
		}
		q := r.p.names.qualifier(b)
		r.note(b.table)
		r.addStar(b.table)
		tail := ""
		if r.keptSeparate(sc, b) {
			tail = r.p.d.Traits().Unmerged
		} else if sc.grouped && r.p.d.Traits().StrictGroups {
			// MariaDB merges it into the block, and when a prepared statement
			// runs for the second time no longer knows the total for what the
			// block groups by (error 1055). Plain has no such query in FROM.
			r.found.merged = true
		}
		r.edits = append(r.edits,
			edit{ast.At(s.Ref.Start), "(SELECT " + strings.Join(r.totals(b.table, q, nil), ", ") + " FROM "},
			edit{ast.At(s.Ref.End), tail + ") AS " + q})
		if r.reason == "" {
			r.reason = "a derived table stands for " + b.table.Name + ": " + why
		}
	}
}

// keptSeparate reports whether a derived form is not to be merged into the block, as
// MariaDB does with derived tables where it can.
func (r *reader) keptSeparate(sc *scope, x *binding) bool {
	switch {
	case groupingSets(r.p.src) || r.p.queries.separate[x.source] ||
		r.p.d.Traits().StrictGroups && r.p.windowed() && (comparesQuery(r.p.src) || extends(r.p.src)):
		return true
	case !sc.grouped || !r.p.d.Traits().StrictGroups:
		return false
	case x.table.NullableDecimal():
		// Sorting groups by an expression of type DECIMAL that is NULL in some
		// rows, it may take those for rows of the group before.
		return true
	}
	// Under ONLY_FULL_GROUP_BY what is selected may be an expression that is
	// grouped by, but two that hold the same query are not the same to it. By
	// its position there is one only.
	return r.groupsComputed(sc, x)
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
	if len(b.p.names.derived) == 0 {
		return false, nil
	}
	x := b.labelled(e.Name, true)
	if x == nil || !x.derived {
		return false, nil
	}
	last := e.Name[len(e.Name)-1]
	if len(e.Name) == 1 {
		return false, nil
	}
	if !b.p.names.derivedHas(x, last) {
		return false, opaque(b.p.names.lacks(x, last))
	}
	if len(e.Name) > 2 {
		b.r.edits = append(b.r.edits, edit{e.Span, b.p.names.qualifier(x) + "." + b.p.d.Quote(last.Name)})
	}
	return true, nil
}

func (n *resolver) lacks(x *binding, column ast.Ident) string {
	return n.derived[x.source] + ", and a derived table has no column " + column.Name
}

// systemColumn finds a bare name that an engine gives to every table.
func (b *blockReader) systemColumn(name ast.Ident) error {
	if len(b.p.names.derived) == 0 {
		return nil
	}
	for _, system := range b.p.d.Traits().SystemColumns {
		if !b.p.names.sameLabel(name, ast.Ident{Name: system}) {
			continue
		}
		for s := b.sc; s != nil; s = s.parent {
			for _, x := range s.bindings {
				if x.derived && !b.p.names.derivedHas(x, name) {
					return opaque(b.p.names.lacks(x, name))
				}
			}
		}
	}
	return nil
}

func (n *resolver) derivedHas(x *binding, column ast.Ident) bool {
	for _, c := range n.labels(x) {
		if n.sameLabel(column, c) {
			return true
		}
	}
	return false
}

// labels lists the columns of a table's source by the names they have there.
func (ns *resolver) labels(x *binding) []ast.Ident {
	var out []ast.Ident
	for i := range x.table.Columns {
		if x.table.Columns[i].Hidden {
			continue
		}
		out = append(out, ast.Ident{Name: x.table.Columns[i].Name, Quoted: true})
		if n := len(out); n <= len(x.columns) {
			out[n-1] = x.columns[n-1]
		}
	}
	return out
}

// labelled finds the source that qualifies a name, in the innermost block that
// has one of that label; column reports whether the last part of the name is one.
func (b *blockReader) labelled(name []ast.Ident, column bool) *binding {
	n := len(name)
	if column {
		n--
	}
	if n == 0 {
		return nil
	}
	for s := b.sc; s != nil; s = s.parent {
		b.p.names.work += 1 + len(s.bindings)
		for _, x := range s.bindings {
			if !b.p.names.sameLabel(name[n-1], x.label) || n > 1 && x.table != nil && !b.p.d.SameTable(name[n-2], x.table.Schema) {
				continue
			}
			return x
		}
	}
	return nil
}
