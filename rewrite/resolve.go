package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file finds what a column reference means, as far as it concerns
// counters.

// A target is what a column reference means.
type target struct {
	binding  *binding
	column   *schema.Column // of binding.table; nil for a derived column
	out      *outColumn
	wholeRow bool // the row of binding
}

// resolve finds what a column reference means, as far as it concerns
// counters: it returns nil for a reference that certainly is not a counter of
// a counter table, and an error when that cannot be decided.
func (n *resolver) resolve(sc *scope, name []ast.Ident) (*target, error) {
	if n.work++; n.work > maxWork {
		return nil, opaque(tooMuchWork)
	}
	if !n.mayConcern(sc, name) {
		return nil, nil
	}
	if len(name) == 1 {
		return n.resolveUnqualified(sc, name[0])
	}
	qualifier, column := name[len(name)-2], name[len(name)-1]
	for s := sc; s != nil; s = s.parent {
		var found *binding
		for _, b := range s.bindings {
			if !n.sameLabel(qualifier, b.label) {
				continue
			}
			if len(name) > 2 && b.table != nil && !n.d.SameTable(name[len(name)-3], b.table.Schema) {
				continue
			}
			if found != nil {
				return nil, opaque("two sources are named " + qualifier.Name)
			}
			found = b
		}
		if found != nil {
			return n.columnOf(found, column)
		}
	}
	// Not a source: schema-qualified, a composite value's field, or an error.
	for s := sc; s != nil; s = s.parent {
		for _, b := range s.bindings {
			if b.counts && (n.counterOf(b.table, column) || n.sameLabel(qualifier, b.label)) {
				return nil, derivable("cannot tell what "+qualifier.Name+"."+column.Name+" is", b)
			}
		}
	}
	return nil, nil
}

// mayConcern is false when no part of name can be a counter, the name of a
// counter table's source (a whole-row reference), or a column of a query that
// could carry one.
func (n *resolver) mayConcern(sc *scope, name []ast.Ident) bool {
	last := name[len(name)-1]
	for s := sc; s != nil; s = s.parent {
		n.work += 1 + len(s.bindings)
		for _, b := range s.bindings {
			if b.counts && n.counterOf(b.table, last) || (b.counts || b.derived) && len(name) == 1 && n.sameLabel(name[0], b.label) {
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

func (n *resolver) counterOf(t *schema.Table, written ast.Ident) bool {
	for _, c := range t.Counter.Counters {
		if n.d.SameColumn(written, c) {
			return true
		}
	}
	for _, c := range t.Counter.Companions {
		if n.d.SameColumn(written, c.Column) {
			return true
		}
	}
	return false
}

// resolveUnqualified is resolve for a name without a qualifier: the innermost block that has such a
// column decides.
func (n *resolver) resolveUnqualified(sc *scope, name ast.Ident) (*target, error) {
	for s := sc; s != nil; s = s.parent {
		found, unknown, err := n.columnIn(s, name)
		switch {
		case err != nil:
			return nil, err
		case found != nil:
			return n.unmerged(s, name, found)
		case unknown && n.outerHas(s.parent, name):
			return nil, derivable("cannot tell which source "+name.Name+" belongs to", allOf(s.parent)...)
		}
		for _, b := range s.bindings {
			if (b.counts || b.derived) && n.rules.WholeRow && n.sameLabel(name, b.label) {
				return &target{binding: b, wholeRow: true}, nil
			}
		}
	}
	return nil, nil
}

// columnIn finds the column of a name among the sources of one block, without those around it. One that
// is no counter is a target without a column; unknown reports whether a source may have the column.
func (n *resolver) columnIn(s *scope, name ast.Ident) (found *target, unknown bool, err error) {
	for _, b := range s.bindings {
		has, err := n.hasColumn(b, name)
		if err != nil {
			return nil, false, err
		}
		if has == maybe {
			unknown = true
		}
		if has != yes {
			continue
		}
		t, err := n.columnOf(b, name)
		if err != nil {
			return nil, false, err
		}
		if found != nil && (isCounterTarget(found) || isCounterTarget(t)) {
			return nil, false, derivable("column "+name.Name+" is ambiguous", s.bindings...)
		}
		if found == nil {
			found = &target{}
		}
		if t != nil {
			found = t
		}
	}
	return found, unknown, nil
}

// unmerged returns what columnIn has found in a block, if it is a counter, unless a join may merge it
// with a column of another source.
func (n *resolver) unmerged(s *scope, name ast.Ident, found *target) (*target, error) {
	if !isCounterTarget(found) {
		return nil, nil
	}
	for _, u := range s.using {
		if n.sameLabel(u, name) {
			return nil, derivable("counter "+name.Name+" is a column of USING", found.binding)
		}
	}
	if s.natural {
		return nil, derivable("a counter table takes part in a NATURAL join", s.bindings...)
	}
	return found, nil
}

// isCounterTarget reports whether a reference to t is replaced. A column of a query
// is not: it is a total already.
func isCounterTarget(t *target) bool { return t != nil && t.column != nil }

// allOf lists the sources of a scope and those around it.
func allOf(sc *scope) []*binding {
	var out []*binding
	for s := sc; s != nil; s = s.parent {
		out = append(out, s.bindings...)
	}
	return out
}

func (n *resolver) outerHas(sc *scope, name ast.Ident) bool {
	for s := sc; s != nil; s = s.parent {
		for _, b := range s.bindings {
			if b.counts && n.counterOf(b.table, name) {
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

func (n *resolver) hasColumn(b *binding, name ast.Ident) (tri, error) {
	if len(b.columns) > 0 {
		for _, c := range b.columns {
			if n.sameLabel(name, c) {
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
		outs, known, err := n.outsOf(b)
		if err != nil {
			return no, err
		}
		for i := range outs {
			if n.sameLabel(name, outs[i].name) {
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
		if t, known = n.lookup(b.source.Name); t == nil {
			if known {
				return maybe, nil
			}
			return no, nil // reported missing; planned again
		}
	}
	for i := range t.Columns {
		if n.d.SameColumn(name, t.Columns[i].Name) {
			return yes, nil
		}
	}
	return no, nil
}

// columnOf returns what column means in b, nil when it is no counter.
func (n *resolver) columnOf(b *binding, column ast.Ident) (*target, error) {
	if b.counts {
		if len(b.columns) > 0 {
			return nil, derivable("counter table "+b.table.Name+" has column aliases", b)
		}
		for i := range b.table.Columns {
			c := &b.table.Columns[i]
			if n.d.SameColumn(column, c.Name) {
				if b.table.IsSlotted(c.Name) {
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
	outs, _, err := n.outsOf(b)
	if err != nil {
		return nil, err
	}
	for i := range outs {
		name := outs[i].name
		if i < len(b.columns) {
			name = b.columns[i]
		}
		if n.sameLabel(column, name) {
			if outs[i].table == nil {
				return nil, nil
			}
			return &target{binding: b, out: &outs[i]}, nil
		}
	}
	return nil, nil
}
