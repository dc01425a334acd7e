package random

import (
	"slices"
	"strings"
)

// kind is what a column's values are.
type kind int

const (
	number kind = iota
	words
)

type column struct {
	name    string
	kind    kind
	null    bool
	counter bool
	decimal bool
	auto    bool // the database may fill it
	loose   bool // compared without letter case
	made    bool // an expression of a query, see from.loses
	unique  bool
	merge   string // of a companion
	shared  string // "touch" or "versions", where the configuration has it there
	values  []any
}

type table struct {
	name    string
	columns []column
	key     []string // the primary key; none for a table of one row
	more    bool     // rows may be inserted and deleted
	local   bool     // a name of WITH
	rows    int      // about how many there are, when not 10
}

func (t *table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

func (t *table) counters() []*column {
	var out []*column
	for i := range t.columns {
		if t.columns[i].counter {
			out = append(out, &t.columns[i])
		}
	}
	return out
}

func (t *table) ordinary() []*column {
	var out []*column
	for i := range t.columns {
		if c := &t.columns[i]; !c.counter && !t.isKey(c.name) {
			out = append(out, c)
		}
	}
	return out
}

// sharedColumns are those that the configuration has in the list of that key.
func (t *table) sharedColumns(key string) []*column {
	return slices.DeleteFunc(t.ordinary(), func(c *column) bool { return c.shared != key })
}

// valued are the ordinary columns that have values to compare them with.
func (t *table) valued() []*column {
	return slices.DeleteFunc(t.ordinary(), func(c *column) bool { return len(c.values) == 0 })
}

func (t *table) isKey(name string) bool {
	for _, k := range t.key {
		if k == name {
			return true
		}
	}
	return false
}

// quote writes a name, in quotes where it needs them or by chance.
func (g *generator) quote(name string) string {
	if !plainName(name) || g.one(4) {
		if g.my() {
			return "`" + name + "`"
		}
		return `"` + name + `"`
	}
	if g.one(12) { // another letter case
		return strings.ToUpper(name)
	}
	return name
}

func plainName(name string) bool {
	switch name {
	case "Order", "group":
		return false
	}
	return name == strings.ToLower(name)
}

// tableName writes a table's name; MySQL's differ by letter case.
func (g *generator) tableName(t *table) string {
	var s string
	if g.my() {
		s = t.name
		if g.one(4) || !plainName(t.name) {
			s = "`" + s + "`"
		}
	} else {
		s = g.quote(t.name)
	}
	if g.one(8) {
		s = g.schemaOf(t) + s
	}
	return s
}
