package session

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// Of several sources each has candidates unless these are many, or its rows are few.
func TestChosen(t *testing.T) {
	t.Parallel()
	one := &rewrite.Estimate{Listed: true}
	two := &rewrite.Estimate{Listed: true, Only: make([]rewrite.Bound, 2)}
	first := &rewrite.Estimate{}
	for _, tt := range []struct {
		name string
		of   *rewrite.Estimate
		n    []int64
		want *rewrite.Bound
	}{
		{"few within bounds", one, []int64{1_000_000, 1_000_000, 1000}, nil},
		{"most within bounds", one, []int64{1_000_000, 1_000_000, 900_000}, &one.Whole},
		{"few rows", one, []int64{50, 1_000_000, 40}, &one.Whole},
		{"too few numbers", one, []int64{50, 1_000_000}, nil},
		{"first of few rows", first, []int64{50, 1_000_000}, &first.Whole},
		{"first of many rows", first, []int64{500_000, 1_000_000}, nil},
		{"both few", two, []int64{1_000_000, 1_000_000, 1000, 1_000_000, 1_000_000, 1000}, nil},
		{"both many", two, []int64{1_000_000, 1_000_000, 900_000, 1_000_000, 1_000_000, 900_000}, &two.Whole},
		{"the first", two, []int64{1_000_000, 1_000_000, 1000, 1_000_000, 1_000_000, 900_000}, &two.Only[0]},
		{"the second", two, []int64{1_000_000, 1_000_000, 900_000, 1_000_000, 1_000_000, 1000}, &two.Only[1]},
		{"one of two", two, []int64{1_000_000, 1_000_000, 900_000}, nil},
	} {
		if got := chosen(tt.of, tt.n, 32); got != tt.want {
			t.Errorf("%s: another form", tt.name)
		}
	}
}
