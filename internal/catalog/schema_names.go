package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// What names mean in a schema.

// know takes a checked table up by its name. The configuration's name was looked up in
// this namespace: it need not be looked up again when a statement has it.
func (sc *Schema) know(c CheckedTable) {
	if c.Config.Schema != "" {
		return
	}
	t := c.Table
	if len(t.Counter.Counters) == 0 {
		plain := *t
		plain.Counter, t = nil, &plain
	}
	sc.Known[sc.NameKey([]ast.Ident{{Name: t.Name, Quoted: true}})] = t
}

// Lookup implements names.Catalog.
func (sc *Schema) Lookup(name []ast.Ident) (*schema.Table, bool) {
	sc.mu.RLock()
	defer sc.mu.RUnlock()
	t, ok := sc.Known[sc.NameKey(name)]
	return t, ok
}

// NameKey returns the key of Known for a name as written.
func (sc *Schema) NameKey(name []ast.Ident) string {
	var b strings.Builder
	for _, n := range name {
		b.WriteString(sc.fold(n))
		b.WriteByte(0)
	}
	return b.String()
}

// fold returns a name as written in the form the database stores it.
func (sc *Schema) fold(n ast.Ident) string {
	if lower := strings.ToLower(n.Name); sc.Catalog.Dialect.SameTable(n, lower) {
		return lower
	}
	return n.Name
}

// Learn looks tables up for the planner, all together: a statement names most of its
// tables several times.
func (sc *Schema) Learn(ctx context.Context, v *View, names [][]ast.Ident) error {
	v.prefetched = &prefetched{tables: map[dialect.WrittenName]*schema.Table{}}
	defer func() { v.prefetched = nil }()
	var written []dialect.WrittenName
	for _, n := range names {
		if w := sc.written(n); !slices.Contains(written, w) {
			written = append(written, w)
		}
	}
	if err := v.prefetched.read(ctx, sc.Catalog.Dialect, v, written); err != nil {
		return err
	}
	for _, n := range names {
		if len(n) > 1 {
			w := sc.written(n)
			if err := sc.reach(ctx, v, w.Schema, w.Name); err != nil {
				return err
			}
		}
	}
	return sc.LearnWith(v.Look(ctx), names)
}

// LearnWith is Learn with the facts that look finds.
func (sc *Schema) LearnWith(look func(schema, name string) (*schema.Table, error), names [][]ast.Ident) error {
	for _, n := range names {
		w := sc.written(n)
		t, err := look(w.Schema, w.Name)
		if err != nil {
			return err
		}
		sc.note(n, t)
	}
	return nil
}

// written returns a name of a statement as it is looked up.
func (sc *Schema) written(name []ast.Ident) dialect.WrittenName {
	w := dialect.WrittenName{Name: sc.fold(name[len(name)-1])}
	if len(name) > 1 {
		w.Schema = sc.fold(name[len(name)-2])
	}
	return w
}

// note remembers what a name means, nil for nothing, or for a temporary table whose columns are not known.
func (sc *Schema) note(name []ast.Ident, t *schema.Table) {
	switch {
	case t == nil:
	case !t.Temporary:
		if c := sc.counter(t); c != nil {
			t = c
		}
	case len(t.Columns) == 0:
		t = nil
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.Known) > maxKnownTables {
		clear(sc.Known)
	}
	sc.Known[sc.NameKey(name)] = t
}

// maxKnownTables bounds the facts kept of tables that are no counter tables.
const maxKnownTables = 10000
