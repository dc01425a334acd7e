package catalog

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/config"
)

// Facts are kept of so many namespaces. Those that sessions load are not dropped for others, and who uses what is dropped
// is told to load it again.
func TestNamespacesKept(t *testing.T) {
	c := NewCatalog(sqlite.New(), &config.Config{}, nil)
	of := func(i int) *Schema {
		sc := newSchema(c)
		sc.namespace = fmt.Sprint("tenant", i)
		return c.keep(sc)
	}
	home, busy := of(-1), of(-2)
	c.Home.Facts = home
	first := of(0)
	if of(0) != first {
		t.Error("two sessions of a namespace have different facts")
	}
	for i := range 2 * maxNamespaces {
		of(i)
		busy.fresh.loaded.Store(c.loads.Add(1)) // as load does
		if n := len(c.schemas); n > maxNamespaces {
			t.Fatalf("facts of %d namespaces are kept", n)
		}
	}
	if home.Stale() || busy.Stale() || !first.Stale() {
		t.Errorf("stale: home %t, busy %t, first %t", home.Stale(), busy.Stale(), first.Stale())
	}
	if of(0) == first {
		t.Error("dropped facts are in use again")
	}
}
