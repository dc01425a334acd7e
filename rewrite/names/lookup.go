package names

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Sources counts the FROM entries and targets of a statement, at every depth,
// that name a counter table.
func (rs *Resolver) Sources(st *ast.Statement) int {
	n := 0
	v := ast.Visitor{Source: func(s *ast.Source) {
		if len(s.Name) > 0 && rs.LookupCounter(s.Name) != nil {
			n++
		}
	}}
	v.Walk(st)
	return n
}

// LookupAmong returns the one of the tables that a name means, or nil.
func (rs *Resolver) LookupAmong(tables []*schema.Table, name []ast.Ident) *schema.Table {
	for _, c := range tables {
		if !strings.EqualFold(name[len(name)-1].Name, c.Name) {
			continue
		}
		if t, _ := rs.Lookup(name); t != nil && t.Schema == c.Schema && t.Name == c.Name {
			return c
		}
	}
	return nil
}

// Catalog is how the planner looks up tables.
type Catalog interface {
	// Lookup returns the table that a name in a statement refers to. A nil table with
	// known true means that there is none. If known is false, the table has not been
	// looked up yet, and the plan is returned as a *MissingError.
	Lookup(name []ast.Ident) (t *schema.Table, known bool)
	// Counters returns the counter tables.
	Counters() []*schema.Table
}

// MaxWork bounds Resolver.Work: what names mean takes time in the product of names
// and sources. No statement written by hand comes near.
const (
	MaxWork     = 2_000_000
	TooMuchWork = "the statement has too many names and sources"
)

// Lookup returns the table that a name means, as Catalog does, and notes the name if it is not known.
func (rs *Resolver) Lookup(name []ast.Ident) (*schema.Table, bool) {
	t, known := rs.catalog.Lookup(name)
	if !known {
		rs.Missing = append(rs.Missing, name)
	}
	return t, known
}

// LookupCounter returns the counter table that a name means, or nil; it only
// asks the catalog about names that could be one.
func (rs *Resolver) LookupCounter(name []ast.Ident) *schema.Table {
	last := name[len(name)-1]
	for _, c := range rs.catalog.Counters() {
		if strings.EqualFold(last.Name, c.Name) {
			if t, _ := rs.Lookup(name); t != nil && slices.Contains(rs.catalog.Counters(), t) {
				return t
			}
			return nil
		}
	}
	return nil
}
