package names

import (
	"errors"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Dialect is how the names of a dialect compare, and how it writes them: the methods of the planner's Dialect.
type Dialect interface {
	SameTable(written ast.Ident, stored string) bool
	SameColumn(written ast.Ident, stored string) bool
	Quote(name string) string
}

// A Resolver finds what the names of a statement mean: which source a column is of, which table a source is, and
// whether the column is a counter. It asks the catalog for tables whose names could be a counter table's, and for
// others only if their columns decide.
type Resolver struct {
	d       Dialect
	rules   Rules
	catalog Catalog
	Missing [][]ast.Ident // what the catalog has not looked up yet
	outs    map[*ast.Select]outputList
	Derived map[*ast.Source]string // sources that a query of totals stands for, and why
	Work    int                    // names compared so far, about
}

// New returns a resolver for one statement.
func New(d Dialect, rules Rules, catalog Catalog) Resolver {
	return Resolver{d: d, rules: rules, catalog: catalog}
}

// Derive notes that a query of totals stands for a source, and why.
func (rs *Resolver) Derive(s *ast.Source, reason string) {
	if rs.Derived == nil {
		rs.Derived = map[*ast.Source]string{}
	}
	rs.Derived[s] = reason
	rs.outs = nil
}

// A Scope is what names mean inside one SELECT block or one DML statement.
type Scope struct {
	Parent   *Scope
	Bindings []*Binding
	ctes     []*cteBinding
	Natural  bool        // a NATURAL join merges columns that the statement does not name
	Outer    bool        // an outer join may make a source's row NULL
	Using    []ast.Ident // columns merged by USING
	Grouped  bool        // the block's rows are made of groups
	Ordering bool        // ORDER BY of a block with DISTINCT is being read
	Block    *ast.Select // the block itself, where there is one
	Strict   bool        // columns are ambiguous without the table's name: Rules.StrictConflict
}

// A Binding is one source that columns may come from.
type Binding struct {
	Source  *ast.Source
	Label   ast.Ident     // alias, or the table's name where there is none
	schema  *ast.Ident    // set when the source is named schema.table without alias
	Table   *schema.Table // the base table; nil for derived tables, CTEs and functions
	Counts  bool          // table is a counter table
	Derived bool          // table is a counter table whose source is written as a query of totals
	Opaque  bool          // columns cannot be known (functions)
	Nested  bool          // it stands in a join in parentheses
	// optional: an outer join may make its row NULL.
	Optional bool
	Scope    *Scope // the scope that the source itself stands in

	Query   *ast.Select // of a derived table or CTE
	Columns []ast.Ident // column aliases
}

// Holds reports whether b is a source of this very block.
func (s *Scope) Holds(b *Binding) bool {
	for _, x := range s.Bindings {
		if x == b {
			return true
		}
	}
	return false
}

type cteBinding struct {
	cte   *ast.CTE
	scope *Scope
}

// opaqueError carries the reason why names cannot be resolved exactly.
type opaqueError struct{ reason string }

func (e *opaqueError) Error() string { return e.reason }

// Opaque returns an error for names that cannot be resolved exactly: the statement is drained for.
func Opaque(reason string) error { return &opaqueError{reason} }

// Reason returns why names cannot be resolved, without what is around it.
func Reason(err error) string {
	var o *opaqueError
	if errors.As(err, &o) {
		return o.reason
	}
	return err.Error()
}

// SameLabel reports whether a name is that of a source, a column or a CTE, all as written.
func (rs *Resolver) SameLabel(written, label ast.Ident) bool {
	if label.Quoted {
		return rs.d.SameColumn(written, label.Name)
	}
	// Both are as written: fold each the way the dialect folds.
	return rs.d.SameColumn(written, label.Name) || rs.d.SameColumn(label, written.Name) ||
		!written.Quoted && !label.Quoted && strings.EqualFold(written.Name, label.Name)
}

// NewScope binds the sources of a FROM clause.
func (rs *Resolver) NewScope(parent *Scope, with []*ast.CTE, from []*ast.Source) *Scope {
	sc := rs.WithScope(parent, with)
	sc = &Scope{Parent: sc}
	for i, f := range from {
		rs.bind(sc, f)
		if i > 0 {
			sc.nest(f, 0)
		}
	}
	return sc
}

// WithScope opens a scope that knows the given CTEs. A CTE sees the ones
// before it; WITH RECURSIVE, which every CTE of the clause carries, lets all
// see all.
func (rs *Resolver) WithScope(parent *Scope, with []*ast.CTE) *Scope {
	if len(with) == 0 {
		return parent
	}
	if rs.rules.WithSeesAll || with[0].Recursive {
		sc := &Scope{Parent: parent}
		for _, c := range with {
			sc.ctes = append(sc.ctes, &cteBinding{c, sc})
		}
		return sc
	}
	for _, c := range with {
		parent = &Scope{Parent: parent, ctes: []*cteBinding{{c, parent}}}
	}
	return parent
}

// CTEScope is the scope that a CTE's own query stands in; sc is one that
// withScope made of its clause.
func (rs *Resolver) CTEScope(sc *Scope, c *ast.CTE) *Scope {
	for s := sc; s != nil; s = s.Parent {
		rs.Work++
		for _, b := range s.ctes {
			if b.cte == c {
				return b.scope
			}
		}
	}
	return sc
}

// optional marks sources whose row an outer join may make NULL.
func (rs *Resolver) optional(list []*Binding) {
	rs.Work += len(list)
	for _, b := range list {
		b.Optional = true
	}
}

func (rs *Resolver) bind(sc *Scope, s *ast.Source) {
	if s == nil {
		return
	}
	if s.Left != nil || s.Right != nil {
		first := len(sc.Bindings)
		rs.bind(sc, s.Left)
		n := len(sc.Bindings)
		rs.bind(sc, s.Right)
		sc.nest(s.Right, n)
		if s.RightOuter {
			rs.optional(sc.Bindings[first:n])
		}
		if s.LeftOuter {
			rs.optional(sc.Bindings[n:])
		}
		sc.Natural = sc.Natural || s.Natural
		sc.Outer = sc.Outer || s.LeftOuter || s.RightOuter
		sc.Using = append(sc.Using, s.Using...)
		return
	}
	b := &Binding{Source: s, Scope: sc, Columns: s.ColumnAliases}
	switch {
	case len(s.Name) > 0:
		b.Label = s.Name[len(s.Name)-1]
		if len(s.Name) > 1 && s.Alias == nil {
			b.schema = &s.Name[len(s.Name)-2]
		}
		if c := rs.findCTE(sc, s.Name); c != nil {
			b.Query = c.cte.Select
			if b.Query == nil {
				b.Opaque = true
			}
			if len(b.Columns) == 0 {
				b.Columns = c.cte.Columns
			}
			b.Scope = c.scope
			break
		}
		b.Table = rs.LookupCounter(s.Name)
		_, b.Derived = rs.Derived[s]
		b.Counts = b.Table != nil && !b.Derived
	case s.Select != nil:
		b.Query = s.Select
	default:
		b.Opaque = true
	}
	if s.Alias != nil {
		b.Label = *s.Alias
	}
	sc.Bindings = append(sc.Bindings, b)
}

// nest marks the sources from n on, those of s, when s is a join: as the right
// side of another one it has to stand in parentheses.
func (s *Scope) nest(join *ast.Source, n int) {
	for ; join != nil && (join.Left != nil || join.Right != nil) && n < len(s.Bindings); n++ {
		s.Bindings[n].Nested = true
	}
}

func (rs *Resolver) findCTE(sc *Scope, name []ast.Ident) *cteBinding {
	if len(name) != 1 {
		return nil
	}
	for s := sc; s != nil; s = s.Parent {
		rs.Work += 1 + len(s.ctes)
		for _, c := range s.ctes {
			if rs.SameLabel(name[0], c.cte.Name) {
				return c
			}
		}
	}
	return nil
}

// CTE returns the WITH query that a table's name means, nil if it means none.
func (rs *Resolver) CTE(sc *Scope, name []ast.Ident) *ast.CTE {
	if b := rs.findCTE(sc, name); b != nil {
		return b.cte
	}
	return nil
}
