package rewrite

import (
	"strings"
	"errors"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// nameDialect is how the names of a dialect compare, and how it writes them: see Dialect.
type nameDialect interface {
	SameTable(written ast.Ident, stored string) bool
	SameColumn(written ast.Ident, stored string) bool
	Quote(name string) string
}

// A resolver finds what the names of a statement mean: which source a column is of, which table a source is, and
// whether the column is a counter. It asks the catalog for tables whose names could be a counter table's, and for
// others only if their columns decide.
type resolver struct {
	d       nameDialect
	rules   NameRules
	catalog Catalog
	missing [][]ast.Ident // what the catalog has not looked up yet
	outs    map[*ast.Select]outColumns
	derived map[*ast.Source]string // sources that a query of totals stands for, and why
	work    int                    // names compared so far, about
}

// newResolver returns a resolver for one statement.
func newResolver(d nameDialect, rules NameRules, catalog Catalog) resolver {
	return resolver{d: d, rules: rules, catalog: catalog}
}

// derive notes that a query of totals stands for a source, and why.
func (n *resolver) derive(s *ast.Source, reason string) {
	if n.derived == nil {
		n.derived = map[*ast.Source]string{}
	}
	n.derived[s] = reason
	n.outs = nil
}

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
	label   ast.Ident     // alias, or the table's name where there is none
	schema  *ast.Ident    // set when the source is named schema.table without alias
	table   *schema.Table // the base table; nil for derived tables, CTEs and functions
	counts  bool          // table is a counter table
	derived bool          // table is a counter table whose source is written as a query of totals
	opaque  bool          // columns cannot be known (functions)
	nested  bool          // it stands in a join in parentheses
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

func (n *resolver) sameLabel(written, label ast.Ident) bool {
	if label.Quoted {
		return n.d.SameColumn(written, label.Name)
	}
	// Both are as written: fold each the way the dialect folds.
	return n.d.SameColumn(written, label.Name) || n.d.SameColumn(label, written.Name) ||
		!written.Quoted && !label.Quoted && strings.EqualFold(written.Name, label.Name)
}

// newScope binds the sources of a FROM clause.
func (n *resolver) newScope(parent *scope, with []*ast.CTE, from []*ast.Source) *scope {
	sc := n.withScope(parent, with)
	sc = &scope{parent: sc}
	for i, f := range from {
		n.bind(sc, f)
		if i > 0 {
			sc.nest(f, 0)
		}
	}
	return sc
}

// withScope opens a scope that knows the given CTEs. A CTE sees the ones
// before it; WITH RECURSIVE, which every CTE of the clause carries, lets all
// see all.
func (n *resolver) withScope(parent *scope, with []*ast.CTE) *scope {
	if len(with) == 0 {
		return parent
	}
	if n.rules.WithSeesAll || with[0].Recursive {
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
func (n *resolver) cteScope(sc *scope, c *ast.CTE) *scope {
	for s := sc; s != nil; s = s.parent {
		n.work++
		for _, b := range s.ctes {
			if b.cte == c {
				return b.scope
			}
		}
	}
	return sc
}

// optional marks sources whose row an outer join may make NULL.
func (n *resolver) optional(list []*binding) {
	n.work += len(list)
	for _, b := range list {
		b.optional = true
	}
}

func (ns *resolver) bind(sc *scope, s *ast.Source) {
	if s == nil {
		return
	}
	if s.Left != nil || s.Right != nil {
		first := len(sc.bindings)
		ns.bind(sc, s.Left)
		n := len(sc.bindings)
		ns.bind(sc, s.Right)
		sc.nest(s.Right, n)
		if s.RightOuter {
			ns.optional(sc.bindings[first:n])
		}
		if s.LeftOuter {
			ns.optional(sc.bindings[n:])
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
		if c := ns.findCTE(sc, s.Name); c != nil {
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
		b.table = ns.lookupCounter(s.Name)
		_, b.derived = ns.derived[s]
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

func (n *resolver) findCTE(sc *scope, name []ast.Ident) *cteBinding {
	if len(name) != 1 {
		return nil
	}
	for s := sc; s != nil; s = s.parent {
		n.work += 1 + len(s.ctes)
		for _, c := range s.ctes {
			if n.sameLabel(name[0], c.cte.Name) {
				return c
			}
		}
	}
	return nil
}
