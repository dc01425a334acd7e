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
	for _, sql := range accepted {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 1<<14 {
			return
		}
		if st, err := New().Parse(sql); err == nil {
			dialecttest.Spans(t, New(), sql, st)
		}
	})
}
