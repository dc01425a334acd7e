package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file decodes the tables of a configuration.

func (d *decoder) tables(c *Config, e *entry, fallback TableConfig) {
	entries, _ := d.mapping(e.value, e.valueAt(), e.path, "tables", "posts: {counters: {views: }}")
	first := map[[2]string]*TableConfig{}
	for i := range entries {
		t := d.table(&entries[i], fallback)
		id := [2]string{t.Schema, t.Table}
		if other := first[id]; other != nil {
			d.problems = append(
				d.problems,
				t.Problem("", "is the same table as %s on line %d: keep one", Clip(other.Name), other.at[""].line),
			)
			continue
		}
		first[id] = t
		c.tables = append(c.tables, *t)
	}
	d.sharedTables(c)
	d.slotTables(c.tables)
}

// slotTables reports slot tables that stand where another table does. Tables
// are compared as written; checkTogether compares what the database resolves.
func (d *decoder) slotTables(tables []TableConfig) {
	base := map[[2]string]*TableConfig{}
	slot := map[[2]string]*TableConfig{}
	for i := range tables {
		base[[2]string{tables[i].Schema, tables[i].Table}] = &tables[i]
	}
	for i := range tables {
		t := &tables[i]
		name := slotTableName(t, t.Table)
		id := [2]string{t.Schema, name}
		if other := base[id]; other != nil {
			d.problems = append(
				d.problems,
				t.Problem(
					"slot_table",
					"slot table %s is the configured table on line %d: choose another name with slot_table",
					Clip(name),
					other.at[""].line,
				),
			)
		}
		if other := slot[id]; other != nil && (t.Layout != schema.LayoutShared || other.Layout != schema.LayoutShared) {
			d.problems = append(
				d.problems,
				t.Problem(
					"slot_table",
					"slot table %s is already the slot table of %s: choose another name with slot_table",
					Clip(name),
					Clip(other.Name),
				),
			)
		}
		slot[id] = t
	}
}

func (d *decoder) table(e *entry, fallback TableConfig) *TableConfig {
	t := fallback
	t.Name, t.file = e.name, d.file
	t.at = maps.Clone(fallback.at)
	t.at[""] = e.at
	parts, why := SplitName(e.name)
	switch {
	case why != "":
		d.problems = append(d.problems, t.Problem("", "%s", why))
		t.Table = e.name
	case len(parts) == 2:
		t.Schema, t.Table = parts[0], parts[1]
	default:
		t.Table = parts[0]
	}
	subject := fmt.Sprintf("table %s: ", Clip(e.name))
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, strings.TrimSuffix(subject, ": "), "counters: {views: }")
	if !ok {
		return &t
	}
	empty := false
	for i := range entries {
		s := &entries[i]
		t.at[s.name] = s.at
		switch s.name {
		case "key":
			d.key(&t, s, subject)
		case "counters":
			empty = d.counters(&t, s, subject)
		case "companions":
			d.companions(&t, s, subject)
		case "slot_table":
			d.slotTable(&t, s, subject)
		case "views":
			d.names(&t, &t.Views, s, subject, "view", "top_posts")
		case "routines":
			d.names(&t, &t.Routines, s, subject, "routine", "recount_posts")
		case "defer_triggers":
			d.boolean(&t.DeferTriggers, s, subject+"defer_triggers")
		default:
			if !d.shares(&t, s, subject) && !d.option(&t, s, subject) {
				d.unknown(s, subject, tableKeys)
			}
		}
	}
	d.countsNothing(&t, empty)
	d.overlaps(&t)
	d.ticketsAlone(&t)
	d.sharesAlone(&t)
	d.slotless(&t)
	return &t
}

// countsNothing reports a table that has neither counters nor columns whose statements are shared. Empty is set if it has an empty list of
// counters.
func (d *decoder) countsNothing(t *TableConfig, empty bool) {
	shares := slices.ContainsFunc(t.sharedColumns(), func(c sharedColumns) bool { _, has := t.at[c.key]; return has })
	_, given := t.at["counters"]
	what := "counters is missing"
	switch {
	case len(t.Counters) > 0 || shares || given && !empty: // what is wrong with a list that is not empty has been reported
		return
	case given:
		what = "counters is empty"
	}
	d.problems = append(d.problems, t.Problem("counters", "%s: name at least one counter column, such as counters: {views: }", what))
}

func (d *decoder) key(t *TableConfig, e *entry, subject string) {
	t.Key = []string{}
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		switch e.value.(type) {
		case nil, *ast.NullNode:
			d.report(e.at, e.path, "%skey is empty: leave it out for the primary key, or write key: [] for a single-row table", subject)
		case *ast.AliasNode:
		default:
			d.report(e.valueAt(), e.path, "%skey must be a list of columns, such as [id], got %s", subject, describe(e.value))
		}
		return
	}
	d.elements(t, &t.Key, e, list, subject, elementWords{"key", "column names", "key column ", "column ", nameFault})
}

// elementWords is how problems speak of the elements of a list.
type elementWords struct {
	key, hold, one, kind string
	fault                func(name string) string
}

// elements decodes the names in a list, each of them once.
func (d *decoder) elements(t *TableConfig, out *[]string, e *entry, list *ast.SequenceNode, subject string, w elementWords) {
	for i, n := range list.Values {
		n = unwrap(n)
		path, at := fmt.Sprintf("%s[%d]", w.key, i), e.at
		if n != nil && n.Type() != ast.NullType {
			at = nodeAt(n)
		}
		name, ok := text(n)
		if !ok {
			d.report(at, joinPath(strings.TrimSuffix(e.path, "."+w.key), path), "%s%s must hold %s, got %s", subject, w.key, w.hold, describe(n))
			continue
		}
		t.at[path] = at
		switch why := w.fault(name); {
		case why != "":
			d.problems = append(d.problems, t.Problem(path, "%s%s %s", w.one, Clip(name), why))
		case slices.Contains(*out, name):
			d.problems = append(d.problems, t.Problem(path, "%s names %s%s twice: keep one", w.key, w.kind, Clip(name)))
		default:
			*out = append(*out, name)
		}
	}
}

// names decodes a list of the table's views or routines.
func (d *decoder) names(t *TableConfig, out *[]string, e *entry, subject, kind, example string) {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		if _, alias := e.value.(*ast.AliasNode); !alias {
			d.report(e.valueAt(), e.path, "%s%ss must be a list of %[2]ss, such as [%s], got %s", subject, kind, example, describe(e.value))
		}
		return
	}
	d.elements(t, out, e, list, subject, elementWords{kind + "s", "names of " + kind + "s", kind + " ", "", func(name string) string {
		_, why := SplitName(name)
		return why
	}})
}

// counters decodes the counters, and reports whether there are none.
func (d *decoder) counters(t *TableConfig, e *entry, subject string) (empty bool) {
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, subject+"counters", "views: , one column per line")
	for i := range entries {
		s := &entries[i]
		path := "counters." + PathName(s.name)
		t.at[path] = s.at
		if why := nameFault(s.name); why != "" {
			d.problems = append(d.problems, t.Problem(path, "counter %s %s", Clip(s.name), why))
			continue
		}
		counter := CounterConfig{Column: s.name}
		about := fmt.Sprintf("%scounter %s", subject, Clip(s.name))
		options, _ := d.mapping(s.value, s.valueAt(), s.path, about, "{} or {min: 0}")
		for j := range options {
			o := &options[j]
			switch o.name {
			case "min":
				t.at[path+".min"] = o.at
				d.bound(&counter.Min, &counter.MinColumn, o, about)
			case "max":
				t.at[path+".max"] = o.at
				d.bound(&counter.Max, &counter.MaxColumn, o, about)
			case "recount":
				t.at[path+".recount"] = o.at
				d.recount(&counter, o, about)
			case "record_type":
				d.recordType(&counter, o, about)
			case "tickets":
				t.at[path+".tickets"] = o.at
				d.tickets(&counter, o, about)
			default:
				d.unknown(o, about+": ", counterKeys)
			}
		}
		if counter.Min != nil && counter.Max != nil && *counter.Min > *counter.Max {
			d.report(s.at, s.path, "%s: min %d is more than max %d", about, *counter.Min, *counter.Max)
		}
		if counter.Block > 0 && counter.Bounded() {
			d.report(s.at, s.path, "%s: numbers from blocks have no bounds: remove min and max, or tickets", about)
		}
		t.Counters = append(t.Counters, counter)
	}
	return ok && len(entries) == 0
}

// bound decodes a bound of a counter: a whole number, or {column: name} for a column of
// the same row. A word alone is the column's name for max only: the word behind min has
// always been a mistake.
func (d *decoder) bound(number **int64, column *string, o *entry, about string) {
	value := o.value
	switch n := value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		list, ok := d.mapping(n, o.valueAt(), o.path, about+": "+o.name, "column: capacity")
		if ok && len(list) == 1 && list[0].name == "column" {
			value = list[0].value
			if name, isName := text(value); isName && nameFault(name) == "" {
				*column = name
				return
			}
		}
	case *ast.StringNode:
		if o.name == "max" && nameFault(n.Value) == "" && strings.Trim(n.Value, "+-.0123456789") != "" {
			*column = n.Value
			return
		}
	}
	v, ok := whole(value)
	if !ok {
		or := ""
		if o.name == "max" {
			or = ", or the name of a column of the same row"
		}
		d.report(o.valueAt(), o.path, "%s: %s must be a whole number%s, got %s", about, o.name, or, describe(o.value))
		return
	}
	*number = &v
}

// recount decodes a query. Only a database can tell whether it is one: see
// Check.
func (d *decoder) recount(c *CounterConfig, e *entry, about string) {
	query, ok := text(e.value)
	query = strings.TrimRight(strings.TrimSpace(query), "; \t\r\n")
	first := append(strings.Fields(strings.ToUpper(query)), "")[0]
	if !ok || first != "SELECT" && first != "WITH" {
		d.report(
			e.valueAt(),
			e.path,
			"%s: recount must be a query, such as SELECT post_id AS id, COUNT(*) AS %s FROM ... GROUP BY post_id, got %s",
			about,
			c.Column,
			describe(e.value),
		)
		return
	}
	c.Recount = query
}

func (d *decoder) companions(t *TableConfig, e *entry, subject string) {
	entries, _ := d.mapping(e.value, e.valueAt(), e.path, subject+"companions", "updated_at: latest")
	for i := range entries {
		s := &entries[i]
		path := "companions." + PathName(s.name)
		t.at[path] = s.at
		if why := nameFault(s.name); why != "" {
			d.problems = append(d.problems, t.Problem(path, "companion %s %s", Clip(s.name), why))
			continue
		}
		c := CompanionConfig{Column: s.name}
		choose(d, &c.Merge, s, fmt.Sprintf("%scompanion %s", subject, Clip(s.name)), merges)
		t.Companions = append(t.Companions, c)
	}
}

func (d *decoder) slotTable(t *TableConfig, e *entry, subject string) {
	name, ok := text(e.value)
	if !ok {
		d.report(e.valueAt(), e.path, "%sslot_table must be a name, got %s", subject, describe(e.value))
		return
	}
	parts, why := SplitName(name)
	switch {
	case why != "":
		d.report(e.valueAt(), e.path, "%sslot_table %s %s", subject, Clip(name), why)
	case len(parts) == 2:
		d.report(
			e.valueAt(),
			e.path,
			"%sslot_table %s names a schema: leave it out, a slot table is in the schema of its base table",
			subject,
			Clip(name),
		)
	case parts[0] == t.Table: // the collision check would name this table as another one
		d.report(e.valueAt(), e.path, "%sslot_table is the table itself: choose another name", subject)
	default:
		t.SlotTable = parts[0]
	}
}

// overlaps reports columns that have two parts to play.
func (d *decoder) overlaps(t *TableConfig) {
	for _, c := range t.Counters {
		path := "counters." + PathName(c.Column)
		if slices.Contains(t.Key, c.Column) {
			d.problems = append(d.problems, t.Problem(path, "column %s is both counter and key: remove it from one", Clip(c.Column)))
		}
	}
	for _, c := range t.Companions {
		path := "companions." + PathName(c.Column)
		if slices.ContainsFunc(t.Counters, func(o CounterConfig) bool { return o.Column == c.Column }) {
			d.problems = append(d.problems, t.Problem(path, "column %s is both companion and counter: remove it from one", Clip(c.Column)))
		}
		if slices.Contains(t.Key, c.Column) {
			d.problems = append(
				d.problems,
				t.Problem(path, "column %s is both companion and key: remove it from companions", Clip(c.Column)),
			)
		}
	}
}
