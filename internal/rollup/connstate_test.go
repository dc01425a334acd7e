package rollup

import "testing"

func TestConnState(t *testing.T) {
	var c connState
	for _, step := range []struct {
		name  string
		event func()
		want  connState
	}{
		{"nothing to lose", c.lose, connNone},
		{"connected", c.open, connReady},
		{"lost", c.lose, connLost},
		{"lost once more", c.lose, connLost},
		{"closed", c.close, connNone},
		{"connected anew", c.open, connReady},
	} {
		if step.event(); c != step.want {
			t.Errorf("%s: %d, want %d", step.name, c, step.want)
		}
	}
}
