package pageviews

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The verdict says what was measured, that the lowest rate gains nothing only where both have kept up with it, and where
// other programs have disturbed the run.
func TestVerdict(t *testing.T) {
	rates := []int{200, 800, 2000, 5000}
	side := func(behind ...time.Duration) *outcome {
		o := &outcome{rates: rates}
		for _, b := range behind {
			o.at = append(o.at, &offered{behind: b})
		}
		return o
	}
	const calm, late = time.Millisecond, 2 * time.Second
	const nothing, disturbed = " At 200 requests a second, where hardly anything queues, there is nothing to gain.", " Other programs disturbed this run, which even lower rates were too much for: run it again."
	for _, c := range []struct {
		plain, wrapped *outcome
		want           string
	}{
		{side(calm, late, late, late), side(calm, calm, calm, calm), "plain keeps up with 200 requests a second, slotsql with 5,000 requests a second (the most that was offered)." + nothing},
		{side(calm, calm, late, late), side(calm, late, late, late), "plain keeps up with 800 requests a second, slotsql with 200 requests a second: a loss here." + nothing},
		{side(calm, calm, late, late), side(calm, calm, late, late), "plain keeps up with 800 requests a second, slotsql with 800 requests a second: no gain here." + nothing},
		{side(late, late, late, late), side(calm, calm, late, late), "plain keeps up with none of these rates, slotsql with 800 requests a second." + disturbed},
		{side(calm, late, late, late), side(late, calm, late, late), "plain keeps up with 200 requests a second, slotsql with 800 requests a second." + disturbed},
	} {
		var out bytes.Buffer
		(&report{&out}).verdict(c.plain, c.wrapped, true)
		if got := strings.Join(strings.Fields(out.String()), " "); got != "Verdict: "+c.want+" All totals are exact." {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
