package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// prefetched are facts of tables that were read together, in a number of queries that does not
// depend on the number of tables. A session has them while it loads a schema, and looks up
// anything else by itself.
type prefetched struct {
	tables map[dialect.WrittenName]*schema.Table // nil where a name means nothing
	views  map[dialect.WrittenName][]string      // over a table
	held   map[string]bool                       // by retirementID: whether slots hold something of a counter
}

// table returns a copy, which the schema adds to.
func (p *prefetched) table(n dialect.WrittenName) (t *schema.Table, known bool) {
	if p == nil {
		return nil, false
	}
	if t, known = p.tables[n]; t != nil {
		c := *t
		c.ForeignKeys.Columns, c.ForeignKeys.Parents = slices.Clone(t.ForeignKeys.Columns), slices.Clone(t.ForeignKeys.Parents)
		c.Triggers.Own = slices.Clone(t.Triggers.Own)
		t = &c
	}
	return t, known
}

// prefetch reads the configured tables, their slot tables and views, and the counter
// tables of the namespace that connections open with.
func (v *View) prefetch(ctx context.Context) (err error) {
	s := v.Catalog
	p := &prefetched{tables: map[dialect.WrittenName]*schema.Table{}}
	names := s.writtenNames()
	for i := range s.Tables {
		for _, written := range s.Tables[i].Views {
			names = append(names, viewName(written))
		}
	}
	s.mu.Lock()
	home := s.Home.Facts
	s.mu.Unlock()
	if home != nil {
		names = append(names, home.names()...)
	}
	if err := p.read(ctx, s.Dialect, v, names); err != nil {
		return err
	}
	if err := v.learnTargets(ctx, func(cfg *config.TableConfig) *schema.Table {
		return p.tables[dialect.WrittenName{Schema: cfg.Schema, Name: cfg.Table}]
	}); err != nil {
		return err
	}
	names = names[:0]
	var bases []dialect.Viewed
	slotless := map[*schema.Table]dialect.WrittenName{} // the slot tables of tables that are to have none
	for i := range s.Tables {
		t := p.tables[dialect.WrittenName{Schema: s.Tables[i].Schema, Name: s.Tables[i].Table}]
		if t == nil || t.IsView {
			continue
		}
		bases = append(bases, dialect.Viewed{Table: t, Routines: routinesOf(&s.Tables[i])})
		n := dialect.WrittenName{Schema: t.Schema, Name: s.slotTableOf(&s.Tables[i], t)}
		if s.Tables[i].Slots == 0 {
			slotless[t] = n
		}
		if _, ok := p.tables[n]; !ok {
			names = append(names, n)
		}
	}
	if err := p.read(ctx, s.Dialect, v, names); err != nil {
		return err
	}
	bases = slices.DeleteFunc(bases, func(t dialect.Viewed) bool { // views over a table without slots show totals
		n, without := slotless[t.Table]
		return without && p.tables[n] == nil
	})
	if len(bases) > 0 {
		if p.views, err = s.viewsOver(ctx, s.Dialect, v, bases); err != nil {
			return err
		}
	}
	v.prefetched = p
	return nil
}

// maxTogether bounds the parts of one query.
const maxTogether = 200

// prefetchHeld finds out, for all tables together, for which of the counters that cannot be
// slotted the slots still hold something.
func (v *View) prefetchHeld(ctx context.Context, tables []CheckedTable) error {
	if v.prefetched == nil {
		return nil
	}
	d := v.Catalog.Dialect
	var queries, ids []string
	for _, t := range tables {
		if t.Table.Counter.Rights.Blind {
			continue
		}
		for _, column := range unslotted(t.Table) {
			queries = append(
				queries,
				"SELECT "+strconv.Itoa(len(ids))+" AS slotsql_n, COUNT(CASE WHEN "+d.Quote(column)+
					" <> 0 THEN 1 END) AS slotsql_held FROM "+rewrite.SlotSource(d, t.Table, column)+" AS slotsql_s",
			)
			ids = append(ids, retirementID(t.Table, column))
		}
	}
	held := map[string]bool{}
	for part := range slices.Chunk(queries, maxTogether) {
		rows, err := v.Own().Query(ctx, strings.Join(part, " UNION ALL "))
		if err != nil {
			return err
		}
		for _, r := range rows {
			i, err := link.WholeOf(r[0])
			if err != nil {
				return err
			}
			n, err := link.WholeOf(r[1])
			if err != nil {
				return err
			}
			held[ids[i]] = n > 0
		}
	}
	v.prefetched.held = held
	return nil
}

// read reads tables, and keeps them by the names that were asked for and by their own.
func (p *prefetched) read(ctx context.Context, d dialect.Describer, c *View, names []dialect.WrittenName) error {
	if len(names) == 0 {
		return nil
	}
	tables, err := d.Describe(ctx, c.Own(), names, c.temporary())
	if err != nil {
		return err
	}
	for i, n := range names {
		p.tables[n] = tables[i]
		if t := tables[i]; t != nil && !t.Temporary {
			p.tables[dialect.WrittenName{Schema: t.Schema, Name: t.Name}] = t
		}
	}
	return nil
}

// temporary reports whether the session may have temporary tables. A hook may have made some. They are looked for where that
// takes no query for each table.
func (v *View) temporary() dialect.Temporary {
	hooked := v.DB.ParentHooks.Any() && !v.Catalog.Traits.TempUnlisted
	if v.Facts.Private() || v.Rare.Any(link.ChangedSettings) || v.Facts.Altered() || hooked {
		return dialect.MayHide
	}
	return dialect.NoneHides
}

// Look returns a function that looks tables up as the session sees them.
func (v *View) Look(ctx context.Context) func(inSchema, name string) (*schema.Table, error) {
	return func(inSchema, name string) (*schema.Table, error) {
		n := dialect.WrittenName{Schema: inSchema, Name: name}
		if t, known := v.prefetched.table(n); known {
			return t, nil
		}
		tables, err := v.Catalog.Dialect.Describe(ctx, v.Own(), []dialect.WrittenName{n}, v.temporary())
		if err != nil {
			return nil, err
		}
		return tables[0], v.learnTargets(ctx, func(cfg *config.TableConfig) *schema.Table {
			if cfg.Schema != inSchema || cfg.Table != name {
				return nil
			}
			return tables[0]
		})
	}
}

// viewsOver finds the views over tables: the first time in all databases, from then on in those of
// the tables. So a view that another client creates in another database is not noticed
// (docs/divergences.md).
func (c *Catalog) viewsOver(
	ctx context.Context,
	d dialect.Describer,
	v *View,
	tables []dialect.Viewed,
) (map[dialect.WrittenName][]string, error) {
	near, err := d.ViewsOver(ctx, v.Own(), tables, dialect.TheirDatabases)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	far := c.far
	c.mu.Unlock()
	out := map[dialect.WrittenName][]string{}
	for i, t := range tables {
		out[dialect.WrittenName{Schema: t.Schema, Name: t.Name}] = near[i]
	}
	if far == nil && c.Traits.ViewsElsewhere {
		all, err := d.ViewsOver(ctx, v.Own(), tables, dialect.AllDatabases)
		if err != nil {
			return nil, err
		}
		far = map[dialect.WrittenName][]string{}
		for i, t := range tables {
			far[dialect.WrittenName{Schema: t.Schema, Name: t.Name}] = slices.DeleteFunc(
				all[i],
				func(v string) bool { return slices.Contains(near[i], v) },
			)
		}
		c.mu.Lock()
		c.far = far
		c.mu.Unlock()
	}
	for n, views := range far {
		if _, ok := out[n]; ok {
			out[n] = append(out[n], views...)
		}
	}
	return out, nil
}

// viewsOver returns the names of the views over a table.
func (v *View) viewsOver(ctx context.Context, t *schema.Table) ([]string, error) {
	if p := v.prefetched; p != nil {
		if views, ok := p.views[dialect.WrittenName{Schema: t.Schema, Name: t.Name}]; ok {
			return views, nil
		}
	}
	return dialect.Views(ctx, v.Catalog.Dialect, v.Own(), viewed(t))
}

// viewName parses the name of a view in the configuration.
func viewName(written string) dialect.WrittenName {
	parts, _ := config.SplitName(written)
	n := dialect.WrittenName{Name: parts[len(parts)-1]}
	if len(parts) > 1 {
		n.Schema = parts[0]
	}
	return n
}
