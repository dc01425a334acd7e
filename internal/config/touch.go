package config

import "github.com/goccy/go-yaml/ast"

// This file decodes touch: ordinary columns whose last writer wins. A table that has only such columns needs no counter, and has no slots.

func (d *decoder) touch(t *TableConfig, e *entry, subject string) {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		if _, alias := e.value.(*ast.AliasNode); !alias {
			d.report(e.valueAt(), e.path, "%stouch must be a list of columns, such as [last_used_at], got %s", subject, describe(e.value))
		}
		return
	}
	if len(list.Values) == 0 {
		d.report(e.valueAt(), e.path, "%stouch is empty: name at least one column, such as touch: [last_used_at], or leave it out", subject)
	}
	d.elements(t, &t.Touch, e, list, subject, elementWords{"touch", "column names", "touched column ", "column ", nameFault})
}

// touchAlone makes a table without counters one without slots, and reports keys that contradict touched columns.
func (d *decoder) touchAlone(t *TableConfig) {
	if len(t.Touch) == 0 {
		return
	}
	if _, own := t.at["coalesce"]; own && !t.Coalesce {
		d.problems = append(d.problems, t.Problem("coalesce", "touched columns are for statements that are shared, and coalesce is false: remove one"))
	}
	if len(t.Counters) > 0 {
		return
	}
	if _, own := t.at["slots"]; own && t.Slots > 0 {
		d.problems = append(d.problems, t.Problem("slots", "touched columns are never in slots, and there are no counters: remove slots, or write slots: 0"))
	}
	t.Slots = 0
}
