package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// This file decodes touch, ordinary columns whose last writer wins, and versions, those that a compare and set expects a value of. A table
// that has only such columns needs no counter, and has no slots.

// sharedColumns is one of these lists: its key, what its columns are called, and an example of one.
type sharedColumns struct {
	key, one, example string
	columns           *[]string
}

func (t *TableConfig) sharedColumns() []sharedColumns {
	return []sharedColumns{
		{"touch", "touched", "last_used_at", &t.Touch},
		{"versions", "version", "lock_version", &t.Versions},
	}
}

// shares decodes one of the lists; false for any other key.
func (d *decoder) shares(t *TableConfig, e *entry, subject string) bool {
	for _, c := range t.sharedColumns() {
		if c.key != e.name {
			continue
		}
		list, ok := e.value.(*ast.SequenceNode)
		if !ok {
			if _, alias := e.value.(*ast.AliasNode); !alias {
				d.report(e.valueAt(), e.path, "%s%s must be a list of columns, such as [%s], got %s", subject, c.key, c.example, describe(e.value))
			}
			return true
		}
		if len(list.Values) == 0 {
			d.report(e.valueAt(), e.path, "%s%s is empty: name at least one column, such as %[2]s: [%s], or leave it out", subject, c.key, c.example)
		}
		d.elements(t, c.columns, e, list, subject, elementWords{c.key, "column names", c.one + " column ", "column ", nameFault})
		return true
	}
	return false
}

// sharesAlone reports columns of the lists that have another part to play, and keys that contradict them. It makes a table without counters
// one without slots.
func (d *decoder) sharesAlone(t *TableConfig) {
	for _, c := range t.sharedColumns() {
		for i, name := range *c.columns {
			if also := t.plays(name, c.columns != &t.Touch); also != "" {
				path := fmt.Sprintf("%s[%d]", c.key, i)
				d.problems = append(d.problems, t.Problem(path, "column %s is both %s and %s: remove it from %s", Clip(name), c.one, also, c.key))
			}
		}
		if len(*c.columns) == 0 {
			continue
		}
		if _, own := t.at["coalesce"]; own && !t.Coalesce {
			d.problems = append(d.problems, t.Problem("coalesce", "%s columns are for statements that are shared, and coalesce is false: remove one", c.one))
		}
		if len(t.Counters) > 0 {
			continue
		}
		if _, own := t.at["slots"]; own && t.Slots > 0 {
			d.problems = append(d.problems, t.Problem("slots", "%s columns are never in slots, and there are no counters: remove slots, or write slots: 0", c.one))
		}
		t.Slots = 0
	}
}

// plays names the part that a column has to play in the table, "" for none. A touched column counts if touched is set.
func (t *TableConfig) plays(column string, touched bool) string {
	switch {
	case slices.ContainsFunc(t.Counters, func(c CounterConfig) bool { return c.Column == column }):
		return "counter"
	case slices.ContainsFunc(t.Companions, func(c CompanionConfig) bool { return c.Column == column }):
		return "companion"
	case slices.Contains(t.Key, column):
		return "key"
	case touched && slices.Contains(t.Touch, column):
		return "touched"
	}
	return ""
}
