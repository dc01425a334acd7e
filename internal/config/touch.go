package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

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
	for i, n := range list.Values {
		n = unwrap(n)
		path, at := fmt.Sprintf("touch[%d]", i), e.at
		if n != nil && n.Type() != ast.NullType {
			at = nodeAt(n)
		}
		name, ok := text(n)
		if !ok {
			d.report(at, joinPath(e.path[:len(e.path)-len(".touch")], path), "%stouch must hold column names, got %s", subject, describe(n))
			continue
		}
		t.at[path] = at
		switch why := nameFault(name); {
		case why != "":
			d.problems = append(d.problems, t.Problem(path, "touched column %s %s", Clip(name), why))
		case slices.Contains(t.Touch, name):
			d.problems = append(d.problems, t.Problem(path, "touch names column %s twice: keep one", Clip(name)))
		default:
			t.Touch = append(t.Touch, name)
		}
	}
}

// touchAlone makes a table without counters one without slots, and reports keys of it that are about slots.
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

// touchOverlaps reports touched columns that are also something else.
func (d *decoder) touchOverlaps(t *TableConfig) {
	for i, name := range t.Touch {
		also := ""
		switch {
		case slices.ContainsFunc(t.Counters, func(c CounterConfig) bool { return c.Column == name }):
			also = "counter"
		case slices.ContainsFunc(t.Companions, func(c CompanionConfig) bool { return c.Column == name }):
			also = "companion"
		case slices.Contains(t.Key, name):
			also = "key"
		}
		if also != "" {
			d.problems = append(d.problems, t.Problem(fmt.Sprintf("touch[%d]", i), "column %s is both touched and %s: remove it from touch", Clip(name), also))
		}
	}
}
