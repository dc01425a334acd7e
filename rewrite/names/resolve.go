package names

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file finds what a column reference means, as far as it concerns
// counters.

// A Target is what a column reference means.
type Target struct {
	Binding  *Binding
	Column   *schema.Column // of binding.table; nil for a derived column
	out      *Output
	WholeRow bool // the row of binding
}

// Resolve finds what a column reference means, as far as it concerns
// counters: it returns nil for a reference that certainly is not a counter of
// a counter table, and an error when that cannot be decided.
func (rs *Resolver) Resolve(sc *Scope, name []ast.Ident) (*Target, error) {
	if rs.Work++; rs.Work > MaxWork {
		return nil, Opaque(TooMuchWork)
	}
	if !rs.mayConcern(sc, name) {
		return nil, nil
	}
	if len(name) == 1 {
		return rs.resolveUnqualified(sc, name[0])
	}
	qualifier, column := name[len(name)-2], name[len(name)-1]
	for s := sc; s != nil; s = s.Parent {
		var found *Binding
		for _, b := range s.Bindings {
			if !rs.SameLabel(qualifier, b.Label) {
				continue
			}
			if len(name) > 2 && b.Table != nil && !rs.d.SameTable(name[len(name)-3], b.Table.Schema) {
				continue
			}
			if found != nil {
				return nil, Opaque("two sources are named " + qualifier.Name)
			}
			found = b
		}
		if found != nil {
			return rs.ColumnOf(found, column)
		}
	}
	// Not a source: schema-qualified, a composite value's field, or an error.
	for s := sc; s != nil; s = s.Parent {
		for _, b := range s.Bindings {
			if b.Counts && (rs.counterOf(b.Table, column) || rs.SameLabel(qualifier, b.Label)) {
				return nil, Derivable("cannot tell what "+qualifier.Name+"."+column.Name+" is", b)
			}
		}
	}
	return nil, nil
}

// mayConcern is false when no part of name can be a counter, the name of a
// counter table's source (a whole-row reference), or a column of a query that
// could carry one.
func (rs *Resolver) mayConcern(sc *Scope, name []ast.Ident) bool {
	last := name[len(name)-1]
	for s := sc; s != nil; s = s.Parent {
		rs.Work += 1 + len(s.Bindings)
		for _, b := range s.Bindings {
			if b.Counts && rs.counterOf(b.Table, last) || (b.Counts || b.Derived) && len(name) == 1 && rs.SameLabel(name[0], b.Label) {
				return true
			}
			if b.Counts && len(b.Columns) > 0 {
				return true
			}
			if b.Query != nil {
				return true
			}
		}
	}
	return false
}

func (rs *Resolver) counterOf(t *schema.Table, written ast.Ident) bool {
	for _, c := range t.Counter.Counters {
		if rs.d.SameColumn(written, c) {
			return true
		}
	}
	for _, c := range t.Counter.Companions {
		if rs.d.SameColumn(written, c.Column) {
			return true
		}
	}
	return false
}

// resolveUnqualified is resolve for a name without a qualifier: the innermost block that has such a
// column decides.
func (rs *Resolver) resolveUnqualified(sc *Scope, name ast.Ident) (*Target, error) {
	for s := sc; s != nil; s = s.Parent {
		found, unknown, err := rs.columnIn(s, name)
		switch {
		case err != nil:
			return nil, err
		case found != nil:
			return rs.unmerged(s, name, found)
		case unknown && rs.outerHas(s.Parent, name):
			return nil, Derivable("cannot tell which source "+name.Name+" belongs to", AllOf(s.Parent)...)
		}
		for _, b := range s.Bindings {
			if (b.Counts || b.Derived) && rs.rules.WholeRow && rs.SameLabel(name, b.Label) {
				return &Target{Binding: b, WholeRow: true}, nil
			}
		}
	}
	return nil, nil
}

// columnIn finds the column of a name among the sources of one block, without those around it. One that
// is no counter is a target without a column; unknown reports whether a source may have the column.
func (rs *Resolver) columnIn(s *Scope, name ast.Ident) (found *Target, unknown bool, err error) {
	for _, b := range s.Bindings {
		has, err := rs.HasColumn(b, name)
		if err != nil {
			return nil, false, err
		}
		if has == Maybe {
			unknown = true
		}
		if has != Yes {
			continue
		}
		t, err := rs.ColumnOf(b, name)
		if err != nil {
			return nil, false, err
		}
		if found != nil && (IsCounterTarget(found) || IsCounterTarget(t)) {
			return nil, false, Derivable("column "+name.Name+" is ambiguous", s.Bindings...)
		}
		if found == nil {
			found = &Target{}
		}
		if t != nil {
			found = t
		}
	}
	return found, unknown, nil
}

// unmerged returns what columnIn has found in a block, if it is a counter, unless a join may merge it
// with a column of another source.
func (rs *Resolver) unmerged(s *Scope, name ast.Ident, found *Target) (*Target, error) {
	if !IsCounterTarget(found) {
		return nil, nil
	}
	for _, u := range s.Using {
		if rs.SameLabel(u, name) {
			return nil, Derivable("counter "+name.Name+" is a column of USING", found.Binding)
		}
	}
	if s.Natural {
		return nil, Derivable("a counter table takes part in a NATURAL join", s.Bindings...)
	}
	return found, nil
}

// IsCounterTarget reports whether a reference to t is replaced. A column of a query
// is not: it is a total already.
func IsCounterTarget(t *Target) bool { return t != nil && t.Column != nil }

// AllOf lists the sources of a scope and those around it.
func AllOf(sc *Scope) []*Binding {
	var out []*Binding
	for s := sc; s != nil; s = s.Parent {
		out = append(out, s.Bindings...)
	}
	return out
}

func (rs *Resolver) outerHas(sc *Scope, name ast.Ident) bool {
	for s := sc; s != nil; s = s.Parent {
		for _, b := range s.Bindings {
			if b.Counts && rs.counterOf(b.Table, name) {
				return true
			}
		}
	}
	return false
}

// An Answer may be unknown.
type Answer int

// The answers. Maybe: a function, or a table that the catalog does not know, may have such a column.
const (
	No Answer = iota
	Maybe
	Yes
)

// HasColumn reports whether a source has a column of that name.
func (rs *Resolver) HasColumn(b *Binding, name ast.Ident) (Answer, error) {
	if len(b.Columns) > 0 {
		for _, c := range b.Columns {
			if rs.SameLabel(name, c) {
				return Yes, nil
			}
		}
		if b.Query != nil {
			return No, nil
		}
	}
	switch {
	case b.Opaque:
		return Maybe, nil
	case b.Query != nil:
		outs, known, err := rs.Outputs(b)
		if err != nil {
			return No, err
		}
		for i := range outs {
			if rs.SameLabel(name, outs[i].Name) {
				return Yes, nil
			}
		}
		if !known {
			return Maybe, nil
		}
		return No, nil
	}
	t := b.Table
	if t == nil {
		var known bool
		if t, known = rs.Lookup(b.Source.Name); t == nil {
			if known {
				return Maybe, nil
			}
			return No, nil // reported missing; planned again
		}
	}
	for i := range t.Columns {
		if rs.d.SameColumn(name, t.Columns[i].Name) {
			return Yes, nil
		}
	}
	return No, nil
}

// ColumnOf returns what column means in b, nil when it is no counter.
func (rs *Resolver) ColumnOf(b *Binding, column ast.Ident) (*Target, error) {
	if b.Counts {
		if len(b.Columns) > 0 {
			return nil, Derivable("counter table "+b.Table.Name+" has column aliases", b)
		}
		for i := range b.Table.Columns {
			c := &b.Table.Columns[i]
			if rs.d.SameColumn(column, c.Name) {
				if b.Table.IsSlotted(c.Name) {
					return &Target{Binding: b, Column: c}, nil
				}
				return nil, nil
			}
		}
		return nil, nil
	}
	if b.Query == nil {
		return nil, nil
	}
	outs, _, err := rs.Outputs(b)
	if err != nil {
		return nil, err
	}
	for i := range outs {
		name := outs[i].Name
		if i < len(b.Columns) {
			name = b.Columns[i]
		}
		if rs.SameLabel(column, name) {
			if outs[i].Table == nil {
				return nil, nil
			}
			return &Target{Binding: b, out: &outs[i]}, nil
		}
	}
	return nil, nil
}
