package catalog

import (
	"context"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/postgres"
)

// looked is a look of c that began some time ago and found the marks unchanged.
func looked(c *Catalog, sees string, marks []dialect.Mark, ago time.Duration) {
	c.share(&View{Catalog: c, sees: &sees}, marks, c.Watch.sharing.marked, clock())
	if l := c.Watch.sharing.look; l != nil && ago > 0 {
		l.began.Store(int64(clock() - ago))
	}
}

// A look is another connector's only if it compared the same marks, seen in the same way, and only for a while.
func TestLooksShared(t *testing.T) {
	t.Parallel()
	const alice, bob = "this server, alice, public", "this server, bob, public"
	made := func() *Catalog { return NewCatalog(postgres.New(), nil, nil) }
	marks, others := []dialect.Mark{{Name: t.Name(), Version: "1"}}, []dialect.Mark{{Name: t.Name(), Version: "2"}}
	for _, test := range []struct {
		name  string
		other func(c *Catalog) // what the other connector did after this one's look
		taken bool
	}{
		{"same", func(c *Catalog) { looked(c, alice, marks, 0) }, true},
		{"other user", func(c *Catalog) { looked(c, bob, marks, 0) }, false},
		{"unknown", func(c *Catalog) { looked(c, "", marks, 0) }, false},
		{"other marks", func(c *Catalog) { looked(c, alice, others, 0) }, false},
		{"long ago", func(c *Catalog) { looked(c, alice, marks, lookAgain) }, false},
		{"closed", func(c *Catalog) { c.Watch.Close(); looked(c, alice, marks, 0) }, false},
		{"nothing", func(*Catalog) {}, false},
	} {
		this, other := made(), made()
		looked(this, alice, marks, 2*lookAgain)
		test.other(other)
		taken, leave := this.Watch.foundByOthers(t.Context())
		if taken != test.taken {
			t.Errorf("%s: taken over %v", test.name, taken)
		}
		if taken && this.Watch.age() >= lookAgain {
			t.Errorf("%s: a look is due nevertheless", test.name)
		}
		if !taken {
			leave()
		}
		this.Watch.Close()
		other.Watch.Close()
	}

	for name, change := range map[string]func(w *watch){
		"told to look":  (*watch).Due,
		"other marks":   (*watch).forget,
		"own look past": func(w *watch) { w.sharing.own -= lookOwn },
		"own question":  func(w *watch) { w.sharing.own -= lookTargets; w.targeted.Store(true) },
	} {
		this, other := made(), made()
		looked(this, alice, marks, 2*lookAgain)
		looked(other, alice, marks, 0)
		change(&this.Watch)
		if taken, _ := this.Watch.foundByOthers(t.Context()); taken {
			t.Errorf("%s: taken over", name)
		}
		this.Watch.Close()
		other.Watch.Close()
	}
	if n := len(sharedLooks.by); n > 0 {
		t.Errorf("%d looks are left of closed connectors", n)
	}
}

// Whoever looks is waited for, and its failure is nobody else's.
func TestLooksInTurns(t *testing.T) {
	t.Parallel()
	marks := []dialect.Mark{{Name: t.Name()}}
	a, b := NewCatalog(postgres.New(), nil, nil), NewCatalog(postgres.New(), nil, nil)
	for _, c := range []*Catalog{a, b} {
		looked(c, t.Name(), marks, 2*lookAgain)
		defer c.Watch.Close()
	}
	_, leave := a.Watch.foundByOthers(t.Context())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if taken, _ := b.Watch.foundByOthers(gone); taken {
		t.Error("nothing was found yet")
	}
	leave() // without having found anything
	taken, leave := b.Watch.foundByOthers(t.Context())
	if taken {
		t.Error("a look that failed was taken over")
	}
	looked(b, t.Name(), marks, 0)
	leave()
	if taken, _ := a.Watch.foundByOthers(t.Context()); !taken {
		t.Error("looked again")
	}
}
