package rewrite_test

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
)

// Every golden case has a verdict that fits its class, and calls nothing a drain that others share.
func TestVerdict(t *testing.T) {
	seen := map[rewrite.Speed]int{}
	for _, c := range cases(t) {
		for _, d := range c.Dialects {
			s, p := planned(t, c, d)
			v := p.Verdict("")
			seen[v.Speed]++
			text := v.String()
			if v.What == "" || strings.Contains(text, "  ") || strings.Contains(text, ", because ;") || strings.HasSuffix(text, "..") {
				t.Errorf("%s/%s, %s: %s", c.Class, c.Name, d, text)
			}
			var want []rewrite.Speed
			switch {
			case p.Class == rewrite.Refused:
				want = []rewrite.Speed{rewrite.SpeedRefused}
			case p.Class == rewrite.Drain && p.Group == nil:
				want = []rewrite.Speed{rewrite.SpeedSlower, rewrite.SpeedRefused}
			case p.Class == rewrite.Additive, p.Class == rewrite.Upsert, p.Group != nil:
				want = []rewrite.Speed{rewrite.SpeedFast, rewrite.SpeedRefused}
			case p.Class == rewrite.PassThrough, p.Class == rewrite.AdditiveBase:
				want = []rewrite.Speed{rewrite.SpeedAsPlain}
			default:
				continue
			}
			if v.Speed != want[0] && v.Speed != want[len(want)-1] {
				t.Errorf("%s/%s, %s: class %s: %s\n%s", c.Class, c.Name, d, p.Class, text, s.SQL)
			}
			if p.Group != nil && p.Group.Touch() && p.Class == rewrite.AdditiveBase && d == "mysql" && !strings.Contains(text, "that set the same values") {
				t.Errorf("%s/%s, %s: %s", c.Class, c.Name, d, text)
			}
			if p.Group != nil && v.Speed == rewrite.SpeedFast && strings.Contains(text, "drain") {
				t.Errorf("%s/%s, %s: %s", c.Class, c.Name, d, text)
			}
		}
	}
	for _, s := range []rewrite.Speed{rewrite.SpeedFast, rewrite.SpeedAsPlain, rewrite.SpeedSlower, rewrite.SpeedRefused} {
		if seen[s] == 0 {
			t.Errorf("no case is %s", s)
		}
	}
}
