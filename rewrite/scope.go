package rewrite

import "errors"

// A scope is what names mean inside one SELECT block or one DML statement.
type scope struct {
	parent   *scope
	bindings []*binding
	ctes     []*cteBinding
	natural  bool    // a NATURAL join merges columns nobody names
	using    []Ident // columns merged by USING
}

// A binding is one source that columns may come from.
type binding struct {
	source *Source
	label  Ident  // alias, or the table's name where there is none
	schema *Ident // set when the source is named schema.table without alias
	table  *Table // the base table; nil for derived tables, CTEs and functions
	counts bool   // table is a counter table
	opaque bool   // columns cannot be known (functions)
	scope  *scope // the scope that the source itself stands in

	query   *Select // of a derived table or CTE
	columns []Ident // column aliases
}

// An outColumn is a result column of a query: its name and, when it is a bare
// counter, which.
type outColumn struct {
	name   Ident
	table  *Table
	column string
}

// holds says whether b is a source of this very block.
func (s *scope) holds(b *binding) bool {
	for _, x := range s.bindings {
		if x == b {
			return true
		}
	}
	return false
}

// outColumns are the result columns of a query; when not known, there may be
// more.
type outColumns struct {
	columns []outColumn
	known   bool
}

type cteBinding struct {
	cte   *CTE
	scope *scope
}

// errOpaque carries the reason why names cannot be resolved exactly.
type errOpaque struct{ reason string }

func (e *errOpaque) Error() string { return e.reason }

func opaque(reason string) error { return &errOpaque{reason} }

func reasonOf(err error) string {
	var o *errOpaque
	if errors.As(err, &o) {
		return o.reason
	}
	return err.Error()
}

func (p *planning) sameLabel(written, label Ident) bool {
	if label.Quoted {
		return p.d.SameColumn(written, label.Name)
	}
	// Both are as written: fold each the way the dialect folds.
	return p.d.SameColumn(written, label.Name) || p.d.SameColumn(label, written.Name) ||
		!written.Quoted && !label.Quoted && equalFold(written.Name, label.Name)
}

// newScope binds the sources of a FROM clause.
func (p *planning) newScope(parent *scope, with []*CTE, from []*Source) *scope {
	sc := p.withScope(parent, with)
	sc = &scope{parent: sc}
	for _, f := range from {
		p.bind(sc, f)
	}
	return sc
}

// withScope opens a scope that knows the given CTEs. A CTE sees the ones
// before it; WITH RECURSIVE, which every CTE of the clause carries, lets all
// see all.
func (p *planning) withScope(parent *scope, with []*CTE) *scope {
	if len(with) == 0 {
		return parent
	}
	if p.d.Traits().WithSeesAll || with[0].Recursive {
		sc := &scope{parent: parent}
		for _, c := range with {
			sc.ctes = append(sc.ctes, &cteBinding{c, sc})
		}
		return sc
	}
	for _, c := range with {
		parent = &scope{parent: parent, ctes: []*cteBinding{{c, parent}}}
	}
	return parent
}

// cteScope is the scope that a CTE's own query stands in; sc is one that
// withScope made of its clause.
func (p *planning) cteScope(sc *scope, c *CTE) *scope {
	for s := sc; s != nil; s = s.parent {
		p.work++
		for _, b := range s.ctes {
			if b.cte == c {
				return b.scope
			}
		}
	}
	return sc
}

func (p *planning) bind(sc *scope, s *Source) {
	if s == nil {
		return
	}
	if s.Left != nil || s.Right != nil {
		p.bind(sc, s.Left)
		p.bind(sc, s.Right)
		sc.natural = sc.natural || s.Natural
		sc.using = append(sc.using, s.Using...)
		return
	}
	b := &binding{source: s, scope: sc, columns: s.ColumnAliases}
	switch {
	case len(s.Name) > 0:
		b.label = s.Name[len(s.Name)-1]
		if len(s.Name) > 1 && s.Alias == nil {
			b.schema = &s.Name[len(s.Name)-2]
		}
		if c := p.findCTE(sc, s.Name); c != nil {
			b.query = c.cte.Select
			if b.query == nil {
				b.opaque = true
			}
			if len(b.columns) == 0 {
				b.columns = c.cte.Columns
			}
			b.scope = c.scope
			break
		}
		b.table = p.lookupCounter(s.Name)
		b.counts = b.table != nil
	case s.Select != nil:
		b.query = s.Select
	default:
		b.opaque = true
	}
	if s.Alias != nil {
		b.label = *s.Alias
	}
	sc.bindings = append(sc.bindings, b)
}

func (p *planning) findCTE(sc *scope, name []Ident) *cteBinding {
	if len(name) != 1 {
		return nil
	}
	for s := sc; s != nil; s = s.parent {
		p.work += 1 + len(s.ctes)
		for _, c := range s.ctes {
			if p.sameLabel(name[0], c.cte.Name) {
				return c
			}
		}
	}
	return nil
}

// A target is what a column reference means.
type target struct {
	binding *binding
	column  *Column // of binding.table; nil for a derived column
	out     *outColumn
}

// resolve finds what a column reference means, as far as it concerns
// counters: it returns nil for a reference that certainly is not a counter of
// a counter table, and an error when that cannot be told.
func (p *planning) resolve(sc *scope, name []Ident) (*target, error) {
	if p.work++; p.work > maxWork {
		return nil, opaque(tooMuchWork)
	}
	if !p.mayConcern(sc, name) {
		return nil, nil
	}
	if len(name) == 1 {
		return p.resolveBare(sc, name[0])
	}
	qualifier, column := name[len(name)-2], name[len(name)-1]
	for s := sc; s != nil; s = s.parent {
		var found *binding
		for _, b := range s.bindings {
			if !p.sameLabel(qualifier, b.label) {
				continue
			}
			if len(name) > 2 && b.table != nil && !p.d.SameTable(name[len(name)-3], b.table.Schema) {
				continue
			}
			if found != nil {
				return nil, opaque("two sources are called " + qualifier.Name)
			}
			found = b
		}
		if found != nil {
			return p.columnOf(found, column)
		}
	}
	// Not a source: schema-qualified, a composite value's field, or an error.
	for s := sc; s != nil; s = s.parent {
		for _, b := range s.bindings {
			if b.counts && (p.counterOf(b.table, column) || p.sameLabel(qualifier, b.label)) {
				return nil, opaque("cannot tell what " + qualifier.Name + "." + column.Name + " is")
			}
		}
	}
	return nil, nil
}

// mayConcern is false when no part of name can be a counter, the name of a
// counter table's source (a whole-row reference), or a column of a query that
// could carry one.
func (p *planning) mayConcern(sc *scope, name []Ident) bool {
	last := name[len(name)-1]
	for s := sc; s != nil; s = s.parent {
		p.work += 1 + len(s.bindings)
		for _, b := range s.bindings {
			if b.counts && (p.counterOf(b.table, last) || p.sameLabel(name[0], b.label) && len(name) == 1) {
				return true
			}
			if b.counts && len(b.columns) > 0 {
				return true
			}
			if b.query != nil {
				return true
			}
		}
	}
	return false
}

func (p *planning) counterOf(t *Table, written Ident) bool {
	for _, c := range t.Counter.Counters {
		if p.d.SameColumn(written, c) {
			return true
		}
	}
	return false
}

func (p *planning) resolveBare(sc *scope, name Ident) (*target, error) {
	for s := sc; s != nil; s = s.parent {
		var found *target
		unknown := false
		for _, b := range s.bindings {
			has, err := p.hasColumn(b, name)
			if err != nil {
				return nil, err
			}
			switch has {
			case maybe:
				unknown = true
			case yes:
				t, err := p.columnOf(b, name)
				if err != nil {
					return nil, err
				}
				if found != nil && (isCounterTarget(found) || isCounterTarget(t)) {
					return nil, opaque("column " + name.Name + " is ambiguous")
				}
				if found == nil {
					found = &target{}
				}
				if t != nil {
					found = t
				}
			}
		}
		if found != nil {
			if isCounterTarget(found) {
				for _, u := range s.using {
					if p.sameLabel(u, name) {
						return nil, opaque("counter " + name.Name + " is a column of USING")
					}
				}
				if s.natural {
					return nil, opaque("a counter table takes part in a NATURAL join")
				}
				return found, nil
			}
			return nil, nil
		}
		if unknown && p.outerHas(s.parent, name) {
			return nil, opaque("cannot tell which source " + name.Name + " belongs to")
		}
		for _, b := range s.bindings {
			if b.counts && p.sameLabel(name, b.label) {
				return nil, opaque("whole-row reference to " + b.table.Name)
			}
		}
	}
	return nil, nil
}

func isCounterTarget(t *target) bool {
	return t != nil && (t.column != nil || t.out != nil && t.out.table != nil)
}

func (p *planning) outerHas(sc *scope, name Ident) bool {
	for s := sc; s != nil; s = s.parent {
		for _, b := range s.bindings {
			if b.counts && p.counterOf(b.table, name) {
				return true
			}
		}
	}
	return false
}

type tri int

const (
	no tri = iota
	maybe
	yes
)

func (p *planning) hasColumn(b *binding, name Ident) (tri, error) {
	if len(b.columns) > 0 {
		for _, c := range b.columns {
			if p.sameLabel(name, c) {
				return yes, nil
			}
		}
		if b.query != nil {
			return no, nil
		}
	}
	switch {
	case b.opaque:
		return maybe, nil
	case b.query != nil:
		outs, known, err := p.outsOf(b)
		if err != nil {
			return no, err
		}
		for i := range outs {
			if p.sameLabel(name, outs[i].name) {
				return yes, nil
			}
		}
		if !known {
			return maybe, nil
		}
		return no, nil
	}
	t := b.table
	if t == nil {
		var known bool
		if t, known = p.lookup(b.source.Name); t == nil {
			if known {
				return maybe, nil
			}
			return no, nil // reported missing; planned again
		}
	}
	for i := range t.Columns {
		if p.d.SameColumn(name, t.Columns[i].Name) {
			return yes, nil
		}
	}
	return no, nil
}

// columnOf returns what column means in b, nil when it is no counter.
func (p *planning) columnOf(b *binding, column Ident) (*target, error) {
	if b.counts {
		if len(b.columns) > 0 {
			return nil, opaque("counter table " + b.table.Name + " has column aliases")
		}
		for i := range b.table.Columns {
			c := &b.table.Columns[i]
			if p.d.SameColumn(column, c.Name) {
				if b.table.IsCounter(c.Name) {
					return &target{binding: b, column: c}, nil
				}
				return nil, nil
			}
		}
		return nil, nil
	}
	if b.query == nil {
		return nil, nil
	}
	outs, _, err := p.outsOf(b)
	if err != nil {
		return nil, err
	}
	for i := range outs {
		name := outs[i].name
		if i < len(b.columns) {
			name = b.columns[i]
		}
		if p.sameLabel(column, name) {
			if outs[i].table == nil {
				return nil, nil
			}
			return &target{binding: b, out: &outs[i]}, nil
		}
	}
	return nil, nil
}

// outsOf returns the result columns of a derived table or CTE; known is false
// when there may be more than are listed.
func (p *planning) outsOf(b *binding) (outs []outColumn, known bool, err error) {
	// A query stands in one place of the text, however many sources mean it:
	// a CTE may have many, each of which may be one of a CTE again.
	if done, ok := p.outs[b.query]; ok {
		return done.columns, done.known, nil
	}
	if p.outs == nil {
		p.outs = map[*Select]outColumns{}
	}
	p.outs[b.query] = outColumns{} // a recursive CTE asks for itself
	outs, known, err = p.outputs(b.scope, b.query)
	if known {
		p.outs[b.query] = outColumns{outs, true}
	}
	return outs, known, err
}

// outputs lists the result columns of a query.
func (p *planning) outputs(parent *scope, q *Select) ([]outColumn, bool, error) {
	sc := p.withScope(parent, q.With)
	if len(q.Operands) > 0 {
		outs, known, err := p.outputs(sc, q.Operands[0])
		for i := range outs {
			outs[i].table = nil // a union's column is typed by all its operands
		}
		return outs, known, err
	}
	if len(q.Values) > 0 {
		return nil, false, nil
	}
	sc = p.newScope(sc, nil, q.From)
	var outs []outColumn
	known := true
	for _, it := range q.Items {
		switch {
		case it.Expr != nil && it.Expr.Kind == Star:
			more, ok, err := p.starOutputs(sc, it.Expr.Name)
			if err != nil {
				return nil, false, err
			}
			outs, known = append(outs, more...), known && ok
		default:
			o := outColumn{}
			e := it.Expr
			for e != nil && e.Kind == Paren {
				e = e.Args[0]
			}
			if e != nil && e.Kind == ColumnRef {
				o.name = e.Name[len(e.Name)-1]
				t, err := p.resolve(sc, e.Name)
				if err != nil {
					return nil, false, err
				}
				if t != nil && t.column != nil {
					o.table, o.column = t.binding.table, t.column.Name
				} else if t != nil && t.out != nil {
					o.table, o.column = t.out.table, t.out.column
				}
			} else if e != nil && e.Kind == Call {
				o.name = Ident{Name: e.Op}
			}
			if it.Alias != nil {
				o.name = *it.Alias
			}
			outs = append(outs, o)
		}
	}
	return outs, known, nil
}

func (p *planning) starOutputs(sc *scope, qualifier []Ident) ([]outColumn, bool, error) {
	var outs []outColumn
	known := true
	for _, b := range sc.bindings {
		if len(qualifier) > 0 && !p.sameLabel(qualifier[len(qualifier)-1], b.label) {
			continue
		}
		switch {
		case b.query != nil:
			more, ok, err := p.outsOf(b)
			if err != nil {
				return nil, false, err
			}
			more = append([]outColumn(nil), more...)
			for i := range more {
				if i < len(b.columns) {
					more[i].name = b.columns[i]
				}
			}
			outs, known = append(outs, more...), known && ok
		case b.opaque:
			known = false
		default:
			t := b.table
			if t == nil {
				if t, _ = p.lookup(b.source.Name); t == nil {
					known = false
					continue
				}
			}
			for i := range t.Columns {
				if t.Columns[i].Hidden {
					continue
				}
				o := outColumn{name: Ident{Name: t.Columns[i].Name, Quoted: true}}
				if i < len(b.columns) {
					o.name = b.columns[i]
				}
				if t.IsCounter(t.Columns[i].Name) {
					o.table, o.column = t, t.Columns[i].Name
				}
				outs = append(outs, o)
			}
		}
	}
	return outs, known, nil
}
