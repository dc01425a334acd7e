package dialect

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// A RightsReader is a Dialect of an engine with accounts, which may have rights on a
// base table and none on its slot table.
type RightsReader interface {
	// SlotRights returns, for each table, what the session's user lacks on its slot
	// table. The number of queries does not depend on the number of tables, unless
	// something is lacking.
	SlotRights(ctx context.Context, s Session, tables []SlotTable) ([]SlotRights, error)
	// Hidden reports whether the session's user cannot know if a table exists: the
	// engine does not show users what they have no right on. It returns the table's schema,
	// where none is given that of the session.
	Hidden(ctx context.Context, s Session, schema, name string) (in string, hidden bool, err error)
	// DeniedRight recognises the error of a statement that the session's user may
	// not run.
	DeniedRight(err error) bool
}

// SlotTable is a counter table with its slot table, which is nil if the session's user
// does not see it, and the names of the views over it.
type SlotTable struct {
	Base, Slots *schema.Table
	Views       []string
	Create      bool // asks for the rights to create the slot table
}

// SlotRights is what a user lacks on a slot table, given the user's rights on the base
// table. A user who may read a counter, or a view over it, must be able to read slots;
// one who may update a counter must be able to write them. A user who may do neither
// needs nothing.
type SlotRights struct {
	Lacks []Lack
	// Blind reports whether the user may not read the slot table, whether it needs to or not.
	Blind bool
	// Fold is what the user lacks to move slots into base rows; nil where it may.
	Fold []Lack
	// Create is what the user lacks to create the slot table, where that was asked for.
	Create []Lack
	// Columns: it has rights on columns of the base table, and not on those that the
	// engine adds.
	Columns bool
}

// HeldRights are the rights of one user on a counter table and its slot table.
type HeldRights struct {
	Reads, Counts bool // may SELECT, UPDATE any of the counters
	Folds         bool // may SELECT and UPDATE all that a fold reads and writes of the base row

	Use                            bool // may name the slot table
	Select, Insert, Update, Delete bool // of the slot table
}

// GrantNames are the names in GRANT statements, in the form in which they are written
// there.
type GrantNames struct {
	User, Base, Schema, Slots string
	Read, Written             []string // the columns that a fold reads and writes of the base row
}

// Lacking returns the rights that are missing and the GRANT for each.
func (h HeldRights) Lacking(n GrantNames) (out SlotRights) {
	grant := func(list []Lack, what string, rights ...string) []Lack {
		if !h.Use {
			list = append(list, Lack{What: what, Grant: "GRANT USAGE ON SCHEMA " + n.Schema + " TO " + n.User})
		}
		if len(rights) > 0 {
			list = append(list, Lack{What: what, Grant: "GRANT " + strings.Join(rights, ", ") + " ON " + n.Slots + " TO " + n.User})
		}
		return list
	}
	var read, all []string
	for _, r := range []struct {
		name string
		has  bool
	}{{"SELECT", h.Select}, {"INSERT", h.Insert}, {"UPDATE", h.Update}, {"DELETE", h.Delete}} {
		if !r.has {
			all = append(all, r.name)
		}
	}
	if !h.Select {
		read = all[:1]
	}
	switch {
	case h.Counts:
		out.Lacks = grant(nil, "counting in slots", all...)
	case h.Reads:
		out.Lacks = grant(nil, "reading totals", read...)
	}
	out.Blind = !h.Use || !h.Select
	if !h.Folds {
		out.Fold = []Lack{
			{
				What: "moving slots into base rows",
				Grant: "GRANT SELECT (" + strings.Join(n.Read, ", ") + "), UPDATE (" + strings.Join(n.Written, ", ") + ") ON " +
					n.Base + " TO " + n.User,
			},
		}
	}
	out.Fold = grant(out.Fold, "moving slots into base rows", all...)
	return out
}

// FoldColumns are the columns of a base row that a fold reads and writes.
func FoldColumns(t *schema.Table) (read, written []string) {
	written = append(written, t.Counter.Counters...)
	for _, co := range t.Counter.Companions {
		written = append(written, co.Column)
	}
	return append(append(read, t.Counter.Key...), written...), written
}
