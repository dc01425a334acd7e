package rewrite

import (
	"errors"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// A scope is what names mean inside one SELECT block or one DML statement.
type scope struct {
	parent   *scope
	bindings []*binding
	ctes     []*cteBinding
	natural  bool        // a NATURAL join merges columns that the statement does not name
	outer    bool        // an outer join may make a source's row NULL
	using    []ast.Ident // columns merged by USING
	grouped  bool        // the block's rows are made of groups
	ordering bool        // ORDER BY of a block with DISTINCT is being read
	block    *ast.Select // the block itself, where there is one
	strict   bool        // columns are ambiguous without the table's name: Traits.StrictConflict
}

// A binding is one source that columns may come from.
type binding struct {
	source  *ast.Source
	label   ast.Ident  // alias, or the table's name where there is none
	schema  *ast.Ident // set when the source is named schema.table without alias
	table   *Table     // the base table; nil for derived tables, CTEs and functions
	counts  bool       // table is a counter table
	derived bool       // table is a counter table whose source is written as a query of totals
	opaque  bool       // columns cannot be known (functions)
	nested  bool       // it stands in a join in parentheses
	// optional: an outer join may make its row NULL.
	optional bool
	scope    *scope // the scope that the source itself stands in

	query   *ast.Select // of a derived table or CTE
	columns []ast.Ident // column aliases
}

// holds reports whether b is a source of this very block.
func (s *scope) holds(b *binding) bool {
	for _, x := range s.bindings {
		if x == b {
			return true
		}
	}
	return false
}

type cteBinding struct {
	cte   *ast.CTE
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

func (p *planning) sameLabel(written, label ast.Ident) bool {
	if label.Quoted {
		return p.d.SameColumn(written, label.Name)
	}
	// Both are as written: fold each the way the dialect folds.
	return p.d.SameColumn(written, label.Name) || p.d.SameColumn(label, written.Name) ||
		!written.Quoted && !label.Quoted && equalFold(written.Name, label.Name)
}

// newScope binds the sources of a FROM clause.
func (p *planning) newScope(parent *scope, with []*ast.CTE, from []*ast.Source) *scope {
	sc := p.withScope(parent, with)
	sc = &scope{parent: sc}
	for i, f := range from {
		p.bind(sc, f)
		if i > 0 {
			sc.nest(f, 0)
		}
	}
	return sc
}

// withScope opens a scope that knows the given CTEs. A CTE sees the ones
// before it; WITH RECURSIVE, which every CTE of the clause carries, lets all
// see all.
func (p *planning) withScope(parent *scope, with []*ast.CTE) *scope {
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
func (p *planning) cteScope(sc *scope, c *ast.CTE) *scope {
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

// optional marks sources whose row an outer join may make NULL.
func (p *planning) optional(list []*binding) {
	p.work += len(list)
	for _, b := range list {
		b.optional = true
	}
}

func (p *planning) bind(sc *scope, s *ast.Source) {
	if s == nil {
		return
	}
	if s.Left != nil || s.Right != nil {
		first := len(sc.bindings)
		p.bind(sc, s.Left)
		n := len(sc.bindings)
		p.bind(sc, s.Right)
		sc.nest(s.Right, n)
		if s.RightOuter {
			p.optional(sc.bindings[first:n])
		}
		if s.LeftOuter {
			p.optional(sc.bindings[n:])
		}
		sc.natural = sc.natural || s.Natural
		sc.outer = sc.outer || s.LeftOuter || s.RightOuter
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
		_, b.derived = p.derived[s]
		b.counts = b.table != nil && !b.derived
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

// nest marks the sources from n on, those of s, when s is a join: as the right
// side of another one it has to stand in parentheses.
func (s *scope) nest(join *ast.Source, n int) {
	for ; join != nil && (join.Left != nil || join.Right != nil) && n < len(s.bindings); n++ {
		s.bindings[n].nested = true
	}
}

func (p *planning) findCTE(sc *scope, name []ast.Ident) *cteBinding {
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
