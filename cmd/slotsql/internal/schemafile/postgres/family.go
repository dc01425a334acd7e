package postgres

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// inherit takes over a parent's columns and checks.
func (t *table) inherit(from *table) {
	for _, c := range from.Columns {
		if t.Column(c.Name) == nil {
			t.Columns = append(t.Columns, c)
		}
	}
	t.checks = append(t.checks, from.checks...)
}

// relate adds t to the parts of the tables that it is a partition of, and the tables that it
// is a partition of or inherits from to those above it. Their partition keys
// also decide where the rows of t are, and t's own decides where theirs are.
func (t *table) relate() {
	t.Partition(t.parted...)
	for whole := t.partOf; whole != nil; whole = whole.partOf {
		t.Partition(whole.parted...)
		whole.Partition(t.parted...)
		whole.Storage.Parts = append(whole.Storage.Parts, t.Name)
		slices.Sort(whole.Storage.Parts)
	}
	for next := t.parents; len(next) > 0; next = next[1:] {
		name := schema.TableName{Schema: next[0].Schema, Name: next[0].Name}
		if !slices.Contains(t.Storage.Ancestors, name) {
			t.Storage.Ancestors, next = append(t.Storage.Ancestors, name), slices.Concat(next, next[0].parents)
		}
	}
	slices.SortFunc(t.Storage.Ancestors, func(a, b schema.TableName) int {
		return cmp.Or(strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
	})
}
