package rewrite

import (
	"strings"
	"testing"
	"time"
)

// What timeText takes are times, of every day of the years that it takes.
func TestTimeText(t *testing.T) {
	for d := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2038; d = d.AddDate(0, 0, 1) {
		for _, s := range []string{d.Format(time.DateOnly), d.Format(time.DateTime), d.Format("2006-01-02 15:04:05.000")} {
			if !timeText(s) {
				t.Fatalf("%q is no time", s)
			}
		}
	}
	for _, s := range []string{
		"", "now", "1970-12-31", "2038-01-01", "2024-13-01", "2024-00-01", "2024-02-30", "2023-02-29", "2024-04-31", "2024-01-00", "2024-1-1",
		"2024-01-01 ", "2024-01-01T10:00:00", "2024-01-01 24:00:00", "2024-01-01 10:60:00", "2024-01-01 10:00:60", "2024-01-01 10:00:00.", "2024-01-01 10:00",
		"2024-01-01 10:00:00.0000001", "2024-01-01 10:00:00Z", "2024-01-01 10:00:0x", "２０２４-01",
	} {
		if timeText(s) {
			t.Errorf("%q is a time", s)
		}
	}
}

// What every engine reads as JSON: not all that encoding/json does.
func TestJSONText(t *testing.T) {
	for s, want := range map[string]bool{
		`{}`: true, `[1, -2.5, "a\n", null, {"e": "é"}]`: true, ` 7 `: true,
		``: false, `{`: false, `{"a": 1,}`: false, `"\u0000"`: false, `1e400000`: false, `1E5`: false, `NaN`: false,
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000): false, strings.Repeat("[", 900) + strings.Repeat("]", 900): true,
	} {
		if got := jsonText(s); got != want {
			t.Errorf("%.40s: %v", s, got)
		}
	}
}
