package rewrite

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite/schema"
)

func TestCompanionFault(t *testing.T) {
	table := &schema.Table{
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}, Identity: true},
			{Name: "slug", Type: "text"}, {Name: "author_id", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
			{Name: "seen", Type: "timestamp without time zone"}, {Name: "day", Type: "date"},
			{Name: "checked", Type: "integer", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}}, {Name: "tags", Type: "text[]"}, {Name: "title", Type: "text"},
			{Name: "ratio", Type: "double precision", NumericType: schema.NumericType{Numeric: schema.Float}}, {Name: "source", Type: "integer", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}},
			{Name: "twice", Type: "integer", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}, Generated: true, DependsOn: []string{"source"}},
		},
		Uniques: []schema.Unique{{Name: "pk", Primary: true, Columns: []string{"id"}}, {Name: "posts_slug", Columns: []string{"slug"}}},
		Checked: []string{"checked"},
	}
	table.Refer("author_id")
	for _, c := range []struct {
		column string
		merge  schema.Merge
		want   string
	}{
		{"seen", schema.Latest, ""}, {"seen", schema.Max, ""}, {"day", schema.Latest, ""},
		{"title", schema.Latest, ""}, {"ratio", schema.Latest, ""},
		{"title", schema.Max, "has type text"}, {"day", schema.Min, "has type date"}, {"ratio", schema.Max, "has type double precision"},
		{"id", schema.Latest, "is an auto-increment or identity column"}, {"slug", schema.Latest, "is part of the unique key posts_slug"},
		{"author_id", schema.Latest, "references another table"}, {"checked", schema.Latest, "is used by a CHECK"},
		{"tags", schema.Latest, "is an array"}, {"source", schema.Latest, "is used by generated column twice"},
		{"twice", schema.Latest, "is a generated column"}, {"nope", schema.Latest, "is not a column"},
	} {
		got := table.CompanionFault(c.column, c.merge)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s as %s: %q, not %q", c.column, c.merge, got, c.want)
		}
	}
}
