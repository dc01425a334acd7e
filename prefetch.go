package slotsql

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// prefetched are facts of tables that were read together, by a number of queries
// that does not depend on how many there are. A session has them while it makes a
// schema; what is not among them it looks up by itself.
type prefetched struct {
	tables map[dialect.WrittenName]*rewrite.Table // nil where a name means nothing
	views  map[dialect.WrittenName][]string       // over a table
	held   map[string]bool                        // by retirementID: whether slots hold something of a counter
}

// table returns a copy, which the schema adds to.
func (p *prefetched) table(n dialect.WrittenName) (t *rewrite.Table, known bool) {
	if p == nil {
		return nil, false
	}
	if t, known = p.tables[n]; t != nil {
		c := *t
		c.Referring, c.Parents, c.OwnTriggers = slices.Clone(t.Referring), slices.Clone(t.Parents), slices.Clone(t.OwnTriggers)
		t = &c
	}
	return t, known
}

// forget drops a table that is being changed.
func (p *prefetched) forget(n dialect.WrittenName) {
	if p != nil {
		delete(p.tables, n)
	}
}

// prefetch reads the configured tables, their slot tables and views, and the counter
// tables of the namespace that connections open with.
func (c *view) prefetch(ctx context.Context) (err error) {
	s := c.catalog
	d, ok := s.dialect.(dialect.Describer)
	if !ok {
		return nil
	}
	p := &prefetched{tables: map[dialect.WrittenName]*rewrite.Table{}}
	names := s.writtenNames()
	for i := range s.tables {
		for _, written := range s.tables[i].Views {
			names = append(names, viewName(written))
		}
	}
	s.mu.Lock()
	home := s.first
	s.mu.Unlock()
	if home != nil {
		names = append(names, home.names()...)
	}
	if err := p.read(ctx, d, c, names); err != nil {
		return err
	}
	names = names[:0]
	var bases []*rewrite.Table
	for i := range s.tables {
		t := p.tables[dialect.WrittenName{Schema: s.tables[i].Schema, Name: s.tables[i].Table}]
		if t == nil || t.IsView {
			continue
		}
		bases = append(bases, t)
		n := dialect.WrittenName{Schema: t.Schema, Name: s.slotTableOf(&s.tables[i], t)}
		if _, ok := p.tables[n]; !ok {
			names = append(names, n)
		}
	}
	if err := p.read(ctx, d, c, names); err != nil {
		return err
	}
	if len(bases) > 0 {
		if p.views, err = s.viewsOver(ctx, d, c, bases); err != nil {
			return err
		}
	}
	c.prefetched = p
	return nil
}

// maxTogether bounds the parts of one query.
const maxTogether = 200

// prefetchHeld finds out together of which counters that cannot be slotted slots hold
// something.
func (c *view) prefetchHeld(ctx context.Context, tables []checkedTable) error {
	if c.prefetched == nil {
		return nil
	}
	d := c.catalog.dialect
	var texts, ids []string
	for _, t := range tables {
		if t.table.Counter.Blind {
			continue
		}
		for _, column := range unslotted(t.table) {
			texts = append(texts, "SELECT "+strconv.Itoa(len(ids))+" AS slotsql_n, COUNT(CASE WHEN "+d.Quote(column)+" <> 0 THEN 1 END) AS slotsql_held FROM "+
				rewrite.SlotSource(d, t.table, column)+" AS slotsql_s")
			ids = append(ids, retirementID(t.table, column))
		}
	}
	held := map[string]bool{}
	for part := range slices.Chunk(texts, maxTogether) {
		rows, err := c.session().Query(ctx, strings.Join(part, " UNION ALL "))
		if err != nil {
			return err
		}
		for _, r := range rows {
			i, err := wholeOf(r[0])
			if err != nil {
				return err
			}
			n, err := wholeOf(r[1])
			if err != nil {
				return err
			}
			held[ids[i]] = n > 0
		}
	}
	c.prefetched.held = held
	return nil
}

// read takes tables up by the names that were asked for, and by their own.
func (p *prefetched) read(ctx context.Context, d dialect.Describer, c *view, names []dialect.WrittenName) error {
	if len(names) == 0 {
		return nil
	}
	tables, err := d.Describe(ctx, c.session(), names, c.temporary())
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

// temporary reports whether the session may have temporary tables.
func (c *view) temporary() dialect.Temporary {
	if c.private || c.temp || c.strayed || c.altered {
		return dialect.MayHide
	}
	return dialect.NoneHides
}

// look returns what looks tables up for the session.
func (c *view) look(ctx context.Context) func(schema, name string) (*rewrite.Table, error) {
	return func(schema, name string) (*rewrite.Table, error) {
		n := dialect.WrittenName{Schema: schema, Name: name}
		if t, known := c.prefetched.table(n); known {
			return t, nil
		}
		d, ok := c.catalog.dialect.(dialect.Describer)
		if !ok {
			return c.catalog.dialect.Table(ctx, c.session(), schema, name)
		}
		tables, err := d.Describe(ctx, c.session(), []dialect.WrittenName{n}, c.temporary())
		if err != nil {
			return nil, err
		}
		return tables[0], nil
	}
}

// viewsOver finds the views over tables: once in all databases, from then on in those
// of the tables. Where views are found by reading all of them, that another client
// makes one elsewhere is not noticed (docs/divergences.md).
func (s *catalog) viewsOver(ctx context.Context, d dialect.Describer, v *view, tables []*rewrite.Table) (map[dialect.WrittenName][]string, error) {
	near, err := d.ViewsOver(ctx, v.session(), tables, dialect.TheirDatabases)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	far := s.far
	s.mu.Unlock()
	out := map[dialect.WrittenName][]string{}
	for i, t := range tables {
		out[dialect.WrittenName{Schema: t.Schema, Name: t.Name}] = near[i]
	}
	if far == nil {
		all, err := d.ViewsOver(ctx, v.session(), tables, dialect.AllDatabases)
		if err != nil {
			return nil, err
		}
		far = map[dialect.WrittenName][]string{}
		for i, t := range tables {
			far[dialect.WrittenName{Schema: t.Schema, Name: t.Name}] = slices.DeleteFunc(all[i], func(v string) bool { return slices.Contains(near[i], v) })
		}
		s.mu.Lock()
		s.far = far
		s.mu.Unlock()
	}
	for n, views := range far {
		if _, ok := out[n]; ok {
			out[n] = append(out[n], views...)
		}
	}
	return out, nil
}

// viewsOver returns the names of the views over a table.
func (c *view) viewsOver(ctx context.Context, t *rewrite.Table) ([]string, error) {
	if p := c.prefetched; p != nil {
		if views, ok := p.views[dialect.WrittenName{Schema: t.Schema, Name: t.Name}]; ok {
			return views, nil
		}
	}
	return c.catalog.dialect.Views(ctx, c.session(), t)
}

// viewName reads the name of a view as the configuration has it.
func viewName(written string) dialect.WrittenName {
	parts, _ := splitName(written)
	n := dialect.WrittenName{Name: parts[len(parts)-1]}
	if len(parts) > 1 {
		n.Schema = parts[0]
	}
	return n
}
