package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// StoredStatus is a function or view of slotsql's that the database has. Older: it is not the one that
// slotsql would create now.
type StoredStatus struct {
	Kind  string `json:"kind"` // function or view
	Name  string `json:"name"`
	Older bool   `json:"older,omitempty"`
}

// MigrateStored creates the functions and views, or replaces those that are older: see
// slotsql.MigrateStored.
func MigrateStored(ctx context.Context, s *catalog.Catalog, what Stored) (created []string, err error) {
	err = withChecked(ctx, s, func(cn *catalog.View, checked []catalog.CheckedTable) error {
		objects, err := storedObjects(cn.Catalog.Dialect, slotted(checked), what)
		for i := range objects {
			did, err := objects[i].install(ctx, cn)
			if err != nil {
				return err
			}
			if did {
				created = append(created, objects[i].name)
			}
		}
		return err
	})
	return created, err
}

// found returns what the database has of the object: what slotsql has created, apart from what it would
// create so now, and whether there is another program's.
func (o *storedObject) found(ctx context.Context, cn *catalog.View) (older, current []dialect.Stored, others bool, err error) {
	r, err := storedSQL(cn.Catalog.Dialect)
	if err != nil {
		return nil, nil, false, err
	}
	stored, err := r.Find(ctx, cn.Session(), o.t, o.name)
	for _, s := range stored {
		switch {
		case s.Kind != o.kind || !isMarked(s.Definition):
			others = true
		case o.none == "" && strings.Contains(s.Definition, o.mark):
			current = append(current, s)
		default:
			older = append(older, s)
		}
	}
	return older, current, others, err
}

// install makes the object what slotsql would create, and reports whether anything was to be done. An
// older function that takes other arguments goes when the new one is there; a view whose columns
// have changed otherwise than by new ones at the end has to go first, and with it the rights on it.
func (o *storedObject) install(ctx context.Context, cn *catalog.View) (bool, error) {
	older, current, others, err := o.found(ctx, cn)
	if err != nil || o.none != "" || len(current) > 0 && len(older) == 0 {
		return false, err
	}
	what := strings.ToLower(string(o.kind)) + " " + o.name
	if others {
		return false, fmt.Errorf("slotsql: %s is to be created, and something else of that name exists: rename it", what)
	}
	if len(current) == 0 {
		failed := cn.Migrate(ctx, o.create)
		if failed != nil && len(older) > 0 {
			failed = cn.Migrate(ctx, append(drops(older), o.create...))
		}
		if older, current, _, err = o.found(ctx, cn); err != nil {
			return false, err
		}
		if failed != nil && len(current) == 0 { // of several processes that create it one may fail
			return false, fmt.Errorf("slotsql: creating %s: %w", what, failed)
		}
	}
	if err := cn.Migrate(ctx, drops(older)); err != nil {
		return true, fmt.Errorf("slotsql: dropping an older %s: %w", what, err)
	}
	return true, nil
}

func drops(stored []dialect.Stored) (out []string) {
	for _, s := range stored {
		out = append(out, "DROP "+string(s.Kind)+" "+s.Ref)
	}
	return out
}

// DropStored drops the functions and views that MigrateStored has created: see slotsql.DropStored.
func DropStored(ctx context.Context, s *catalog.Catalog, what Stored) (dropped []string, err error) {
	err = withChecked(ctx, s, func(cn *catalog.View, checked []catalog.CheckedTable) error {
		dropped, err = dropStored(ctx, cn, checked, what)
		return err
	})
	return dropped, err
}

// dropStored drops them, but none while a trigger or routine calls a function: it would fail.
func dropStored(ctx context.Context, cn *catalog.View, checked []catalog.CheckedTable, what Stored) (dropped []string, err error) {
	var gone []dialect.Stored
	for _, o := range possible(cn.Catalog.Dialect, checked, what) {
		older, current, _, err := o.found(ctx, cn)
		if err != nil {
			return nil, err
		}
		if own := append(older, current...); len(own) > 0 {
			gone, dropped = append(gone, own...), append(dropped, o.name)
		}
	}
	if err := uncalled(ctx, cn, dropped); err != nil {
		return nil, err
	}
	return dropped, cn.Migrate(ctx, drops(gone))
}

// refreshViews replaces the views of totals that a table has, where they are not what slotsql would create now: without a
// counter that has been added, its totals would be wrong.
func refreshViews(ctx context.Context, cn *catalog.View, t catalog.CheckedTable) (done []string, err error) {
	for _, o := range possible(cn.Catalog.Dialect, []catalog.CheckedTable{t}, Stored{Views: true}) {
		older, _, _, err := o.found(ctx, cn)
		if err == nil && len(older) > 0 {
			_, err = o.install(ctx, cn)
			done = append(done, o.name+" (replaced)")
		}
		if err != nil {
			return nil, err
		}
	}
	return done, nil
}

// uncalled fails if a routine names one of these functions or views.
func uncalled(ctx context.Context, cn *catalog.View, functions []string) error {
	s, err := storedSQL(cn.Catalog.Dialect)
	if err != nil || len(functions) == 0 {
		return err
	}
	r, ok := s.(dialect.FunctionWriter)
	if !ok {
		return nil
	}
	routines, err := r.Routines(ctx, cn.Session(), functions)
	var callers []string
	for i := range routines {
		if namesOne(cn.Catalog.Dialect.LexRules(), routines[i].Body, functions) && !isMarked(routines[i].Before+routines[i].Body) {
			callers = append(callers, routines[i].Kind+" "+routines[i].Name)
		}
	}
	if err == nil && len(callers) > 0 {
		err = fmt.Errorf("slotsql: nothing is dropped: %s would fail without %s: give them their UPDATE back first",
			strings.Join(callers, ", "), strings.Join(functions, ", "))
	}
	return err
}

// namesOne reports whether one of the names occurs in a body.
func namesOne(rules *lex.Rules, body string, names []string) bool {
	return slices.ContainsFunc(lex.Tokens(rules, body), func(t lex.Token) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.Trim(body[t.Start:t.End], "`\""), n) })
	})
}

// possible returns the objects of the kinds that the engine has.
func possible(d dialect.Dialect, tables []catalog.CheckedTable, what Stored) []storedObject {
	r, err := storedSQL(d)
	if err != nil {
		return nil
	}
	if _, ok := r.(dialect.FunctionWriter); !ok {
		what.Functions = false
	}
	objects, _ := storedObjects(d, tables, what) // which then have no error
	return objects
}

// storedStatus returns which functions and views of a table there are.
func storedStatus(ctx context.Context, cn *catalog.View, t catalog.CheckedTable) (out []StoredStatus, err error) {
	for _, o := range possible(cn.Catalog.Dialect, []catalog.CheckedTable{t}, Stored{Functions: true, Views: true}) {
		older, current, _, err := o.found(ctx, cn)
		if err != nil {
			return nil, err
		}
		if len(current)+len(older) > 0 {
			out = append(out, StoredStatus{Kind: strings.ToLower(string(o.kind)), Name: o.name, Older: len(older) > 0})
		}
	}
	return out, nil
}
