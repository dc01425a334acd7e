package sessions

import (
	"strings"
	"testing"
)

const events = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA/x","Output":"a_test.go:1: wrong\n"}
{"Action":"fail","Test":"TestA/x"}
{"Action":"pass","Test":"TestA/y"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestB"}
{"Action":"output","Output":"FAIL\n"}
{"Action":"fail"}
`

// TestJudge: what differs must fail, and nothing else may.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		events, differs string
		want            []string // parts of the problems
	}{
		{events, "TestA/x", nil},
		{events, "TestA", nil},
		{events, "TestB", []string{"TestA/x:\na_test.go:1: wrong", "TestB does not fail"}},
		{events, "TestA/x TestC", []string{"TestC does not fail"}},
		{events, "TestA/x TestA/y", []string{"TestA/y does not fail"}},
		{events + `{"Action":"run","Test":"TestD"}` + "\n", "TestA/x", []string{"TestD has not ended"}},
	} {
		differs := map[string]string{}
		for _, name := range strings.Fields(c.differs) {
			differs[name] = "a reason"
		}
		problems := judge(read(t, []byte(c.events)), differs)
		if len(problems) != len(c.want) {
			t.Errorf("%s: %q", c.differs, problems)
		}
		for _, want := range c.want {
			if !strings.Contains(strings.Join(problems, "\n"), want) {
				t.Errorf("%s: %q does not say %q", c.differs, problems, want)
			}
		}
	}
}
