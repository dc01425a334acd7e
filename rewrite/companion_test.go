package rewrite

import (
	"strings"
	"testing"
)

func TestCompanionFault(t *testing.T) {
	table := &Table{
		Columns: []Column{
			{Name: "id", Type: "bigint", NumericType: NumericType{Numeric: Integer, Bits: 64}, Identity: true},
			{Name: "slug", Type: "text"}, {Name: "author_id", Type: "bigint", NumericType: NumericType{Numeric: Integer, Bits: 64}},
			{Name: "seen", Type: "timestamp without time zone"}, {Name: "day", Type: "date"},
			{Name: "checked", Type: "integer", NumericType: NumericType{Numeric: Integer, Bits: 32}}, {Name: "tags", Type: "text[]"}, {Name: "title", Type: "text"},
			{Name: "ratio", Type: "double precision", NumericType: NumericType{Numeric: Float}}, {Name: "source", Type: "integer", NumericType: NumericType{Numeric: Integer, Bits: 32}},
			{Name: "twice", Type: "integer", NumericType: NumericType{Numeric: Integer, Bits: 32}, Generated: true, DependsOn: []string{"source"}},
		},
		Uniques: []Unique{{Name: "pk", Primary: true, Columns: []string{"id"}}, {Name: "posts_slug", Columns: []string{"slug"}}},
		Checked: []string{"checked"},
	}
	table.Refer("author_id")
	for _, c := range []struct {
		column string
		merge  Merge
		want   string
	}{
		{"seen", Latest, ""}, {"seen", Max, ""}, {"day", Latest, ""}, {"title", Latest, ""}, {"ratio", Latest, ""},
		{"title", Max, "has type text"}, {"day", Min, "has type date"}, {"ratio", Max, "has type double precision"},
		{"id", Latest, "is an auto-increment or identity column"}, {"slug", Latest, "is part of the unique key posts_slug"},
		{"author_id", Latest, "references another table"}, {"checked", Latest, "is used by a CHECK"},
		{"tags", Latest, "is an array"}, {"source", Latest, "is used by generated column twice"},
		{"twice", Latest, "is a generated column"}, {"nope", Latest, "is not a column"},
	} {
		got := table.CompanionFault(c.column, c.merge)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s as %s: %q, not %q", c.column, c.merge, got, c.want)
		}
	}
}
