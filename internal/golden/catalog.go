package golden

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/slotsql/slotsql/rewrite"
)

// Catalog is a rewrite.Catalog of the tables of one case.
type Catalog struct {
	d      rewrite.Dialect
	tables []*rewrite.Table
}

// NewCatalog sets the tables' counters as the configuration says. Names in a
// case's configuration are as the database stores them, a schema in front
// where the table is not in the default one.
func NewCatalog(d rewrite.Dialect, tables []*rewrite.Table, config string) (*Catalog, error) {
	var cfg struct {
		Defaults struct{ Slots int }
		Tables   map[string]struct {
			Key        *[]string         `yaml:"key"`
			Counters   map[string]any    `yaml:"counters"`
			Companions map[string]string `yaml:"companions"`
			Slots      int               `yaml:"slots"`
			SlotTable  string            `yaml:"slot_table"`
			OnDrain    string            `yaml:"on_drain"`
			Coalesce   bool
			Placement  string
			Foreign    *bool `yaml:"foreign_keys"`
			Layout     string
		}
	}
	if err := yaml.Unmarshal([]byte(config), &cfg); err != nil {
		return nil, err
	}
	c := &Catalog{d, tables}
	for name, tc := range cfg.Tables {
		if quoted, ok := strings.CutPrefix(name, `"`); ok {
			name = strings.ReplaceAll(strings.TrimSuffix(quoted, `"`), `""`, `"`)
		}
		i := slices.IndexFunc(tables, func(t *rewrite.Table) bool { return t.Name == name || t.Schema+"."+t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("configured table %q is not in the schema", name)
		}
		t := tables[i]
		counter := &rewrite.Counter{
			Slots:      tc.Slots,
			SlotSchema: t.Schema,
			SlotTable:  tc.SlotTable,
			SlotColumn: "slot",
			OnDrain:    rewrite.OnDrain(tc.OnDrain),
			Coalesce:   tc.Coalesce,
			Placement:  rewrite.Placement(tc.Placement),
			Layout:     rewrite.Layout(tc.Layout),
		}
		if tc.Layout == "shared" {
			counter.Shared = &rewrite.Shared{Type: "record_type", ID: "record_id", Count: "count", Records: map[string]int64{}}
			counter.NoForeignKey = true
			if counter.SlotTable == "" {
				counter.SlotTable = "slotted_counters"
			}
			for column, options := range tc.Counters {
				if o, ok := options.(map[string]any); ok {
					if n, ok := o["record_type"].(uint64); ok {
						counter.Shared.Records[column] = int64(n)
					}
				}
			}
		}
		if counter.SlotTable == "" {
			counter.SlotTable = t.Name + "_slots"
		}
		if counter.OnDrain == "" {
			counter.OnDrain = "run"
		}
		if counter.Slots == 0 {
			counter.Slots = 64
		}
		counter.NoForeignKey = tc.Foreign != nil && !*tc.Foreign
		switch {
		case tc.Key != nil:
			counter.Key = *tc.Key
		case len(t.Uniques) > 0 && t.Uniques[0].Primary:
			counter.Key = t.Uniques[0].Columns
		default:
			return nil, fmt.Errorf("table %q: no primary key", name)
		}
		for _, col := range t.Columns {
			if merge, ok := tc.Companions[col.Name]; ok {
				if why := t.CompanionFault(col.Name, rewrite.Merge(merge)); why != "" {
					return nil, fmt.Errorf("companion %q of table %q %s", col.Name, name, why)
				}
				counter.Companions = append(counter.Companions, rewrite.Companion{Column: col.Name, Merge: rewrite.Merge(merge)})
			}
		}
		t.Counter = counter // Slottable asks for the companions
		for _, col := range t.Columns {
			if _, ok := tc.Counters[col.Name]; !ok {
				continue
			}
			if ok, _ := t.Slottable(col.Name); ok {
				counter.Counters = append(counter.Counters, col.Name)
			}
		}
		if len(counter.Counters) == 0 {
			t.Counter = nil
		}
	}
	return c, nil
}

// Lookup implements rewrite.Catalog: every table that there is is known.
func (c *Catalog) Lookup(name []rewrite.Ident) (*rewrite.Table, bool) {
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

// Counters implements rewrite.Catalog.
func (c *Catalog) Counters() []*rewrite.Table {
	var out []*rewrite.Table
	for _, t := range c.tables {
		if t.Counter != nil {
			out = append(out, t)
		}
	}
	return out
}

// Mentions reports whether the text contains the name of a counter table or what
// could be an escaped one; it does not look at how.
func (c *Catalog) Mentions(text string) bool {
	text = strings.ToLower(text)
	for _, t := range c.Counters() {
		if strings.Contains(text, strings.ToLower(t.Name)) {
			return true
		}
	}
	return strings.Contains(text, `u&"`)
}
