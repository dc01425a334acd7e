package session

import (
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
)

// A warning is logged ten times in a second, and then tells how many it has
// withheld; another one is not concerned.
func TestWarningsAreLimited(t *testing.T) {
	w := &New(fake.Probing, &config.Config{}).warned.drains
	now := time.Unix(1000, 0)
	logged := 0
	for range 50 {
		if withheld, ok := w.due("a", now); ok {
			logged++
			if withheld > 0 {
				t.Errorf("%d withheld", withheld)
			}
		}
		now = now.Add(time.Millisecond)
	}
	if logged != 10 {
		t.Errorf("%d of 50 logged", logged)
	}
	if withheld, ok := w.due("b", now); !ok || withheld != 0 {
		t.Error("another warning is withheld")
	}
	if withheld, ok := w.due("a", now.Add(time.Second)); !ok || withheld != 40 {
		t.Errorf("a second later: %d withheld, logged %v", withheld, ok)
	}
}
