package postgres

import (
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
)

// FuzzParse holds Parse to these rules: it does not panic, and what it returns keeps
// those of dialecttest.Spans.
func FuzzParse(f *testing.F) {
	for _, c := range shapes {
		f.Add(c[0])
	}
	for _, text := range accepted {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		if st, err := New().Parse(text); err == nil {
			dialecttest.Spans(t, New(), text, st)
		}
	})
}
