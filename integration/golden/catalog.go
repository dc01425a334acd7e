package golden

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Catalog is a names.Catalog of the tables of one case.
type Catalog struct {
	*catalog.Schema
	d      rewrite.Dialect
	tables []*schema.Table
}

// NewCatalog sets the tables' counters as the configuration says: by the code that
// does so for a program.
func NewCatalog(d dialect.Dialect, tables []*schema.Table, sql string) (*Catalog, error) {
	if !strings.Contains(sql, "version:") {
		sql = "version: 1\n" + sql
	}
	cfg, err := config.Parse([]byte(WithSlots(sql)), "config.yaml")
	if err != nil {
		return nil, err
	}
	look := func(inSchema, name string) (*schema.Table, error) {
		i := slices.IndexFunc(tables, func(t *schema.Table) bool { return t.Name == name && (inSchema == "" || t.Schema == inSchema) })
		if i < 0 {
			return nil, nil // a configured one is a problem
		}
		t := *tables[i]
		return &t, nil
	}
	s := catalog.NewCatalog(d, cfg, cfg.Tables())
	checked, problems, err := s.CheckTables(config.Always, look)
	if err != nil {
		return nil, err
	} else if len(problems) > 0 {
		return nil, catalog.AsConfigError(problems)
	}
	c := &Catalog{d: d, tables: slices.Clone(tables)}
	if c.Schema, err = s.Adopted(checked, func(*catalog.Schema, *schema.Table) error { return nil }); err != nil {
		return nil, err
	}
	for _, counter := range c.Counters() {
		i := slices.IndexFunc(tables, func(t *schema.Table) bool { return t.Schema == counter.Schema && t.Name == counter.Name })
		c.tables[i] = counter
	}
	return c, nil
}

// Lookup implements names.Catalog: every table that there is is known.
func (c *Catalog) Lookup(name []ast.Ident) (*schema.Table, bool) {
	for _, t := range c.tables {
		if !c.d.SameTable(name[len(name)-1], t.Name) {
			continue
		}
		if len(name) > 1 && c.d.SameTable(name[len(name)-2], t.Schema) || len(name) == 1 && t.Schema == c.tables[0].Schema {
			return t, true
		}
	}
	return nil, true
}

// Mentions reports whether the statement contains the name of a counter table or what
// could be an escaped one; it does not look at how.
func (c *Catalog) Mentions(sql string) bool {
	sql = strings.ToLower(sql)
	for _, t := range c.Counters() {
		if strings.Contains(sql, strings.ToLower(t.Name)) {
			return true
		}
	}
	return strings.Contains(sql, `u&"`)
}
