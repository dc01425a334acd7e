package schema

import (
	"strings"
	"testing"
)

// Bounds that a CHECK constraint states are advised as min and max, as each engine writes them; others are not.
func TestInsteadOfChecks(t *testing.T) {
	for condition, want := range map[string]string{
		"n >= 0":              "min: 0",
		"(n >= 0)":            "min: 0",
		"((n > 0))":           "min: 1",
		"`n` >= -5":           "min: -5",
		"\"n\" < 100":         "max: 99",
		"(n >= (0)::numeric)": "min: 0",
		"(n <= most)":         "max: most",
		"`n` <= `most`":       "max: most",
		"n < most":            "",
		"n <= missing":        "",
		"m >= 0":              "",
		"n >= 0 AND n <= 9":   "",
		"n >= 0.5":            "",
		"n + m >= 0":          "",
		"":                    "",
	} {
		table := &Table{
			Columns: []Column{{Name: "n", NumericType: NumericType{Numeric: Integer, Bits: 32}}, {Name: "most"}, {Name: "m"}},
			Checked: []string{"n"}, Checks: []Check{{Columns: []string{"n"}, SQL: condition}},
		}
		_, why := table.Slottable("n")
		if want != "" {
			want = ": for slots replace it by " + want + " and a condition in WHERE"
		}
		if got, ok := strings.CutPrefix(why, "a CHECK constraint uses the column's base value"); !ok || got != want {
			t.Errorf("%s: %s, want %q", condition, why, want)
		}
		table.Counter = &Counter{} // slots: 0 is not the reason
		if _, again := table.Slottable("n"); again != why {
			t.Errorf("%s: with slots: 0 %s, without %s", condition, again, why)
		}
	}
}
