package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A process notices what any other client changes about the tables that matter: the marks of
// configured tables and slot tables are compared with those at which the facts in use were read.
// Looks are driven by use. A statement that names a configured table, and finds the last look more
// than one and three quarters of a second old, has another one begin on a side connection, and does not wait for it. If the
// last look is more than two seconds old, because nothing was done meanwhile, the statement waits.
// So what was changed two seconds before a statement began is noticed, and an idle process does
// not look.
//
// Facts are never newer than their marks, which are read first: a change between the two is found
// by the next look.

const (
	lookAgain = 1750 * time.Millisecond // after which another look begins
	lookFirst = 2 * time.Second         // after which a statement waits for it
)

// watch is what one connector knows about the definitions in the database.
type watch struct {
	targets  atomic.Int64 // when foreign keys to counters were last looked for, by clock
	targeted atomic.Bool  // there are tables to look for them
	distance atomic.Int64 // nanoseconds of a round trip to the server, as far as looks show
	looked   atomic.Int64 // when the look began with which the facts were last found to hold, by clock; 0: never

	mu      sync.Mutex
	marks   map[dialect.WrittenName]dialect.Mark // that the facts in use were read at
	glance  dialect.Glance                       // before the last look at which the marks were as these
	settled time.Duration                        // when what had begun at the last glance has ended, by clock; 0: it has
	under   chan struct{}                        // of the look that is under way: closed at its end; nil: none is
	sharing sharing

	Side side
}

var started = time.Now()

// clock returns a time that only moves forward.
func clock() time.Duration { return time.Since(started) + 1 }

func (w *watch) age() time.Duration {
	at := w.looked.Load()
	if at == 0 {
		return lookFirst + 1
	}
	return clock() - time.Duration(at)
}

// answered notes how long the server has taken to answer a query that writes nothing and does little.
func (w *watch) answered(took time.Duration) {
	d := int64(took)
	if was := w.distance.Load(); was > 0 && d > was {
		d = was + (d-was)/8 // it may have been busy
	}
	w.distance.Store(d)
}

// RoundTrip returns about how long a round trip to the server takes; 0 while that is not known.
func (w *watch) RoundTrip() time.Duration { return time.Duration(w.distance.Load()) }

// Due makes the next statement wait for a look.
func (w *watch) Due() {
	w.looked.Store(0)
	w.lookItself() // what others have found may be older
}

func (w *watch) lookedAt(began time.Duration) {
	for {
		at := w.looked.Load()
		if int64(began) <= at || w.looked.CompareAndSwap(at, int64(began)) {
			return
		}
	}
}

// watcher returns the dialect that can look; nil if there is nothing to look at.
func (c *Catalog) watcher() dialect.Watcher {
	if len(c.Tables) == 0 || c.Role.Dry && c.Role.Beside {
		return nil
	}
	return c.Dialect
}

// writtenNames returns the names of the configured tables and their slot tables as a session
// resolves them before any facts are known.
func (c *Catalog) writtenNames() []dialect.WrittenName {
	var out []dialect.WrittenName
	for i := range c.Tables {
		t := &c.Tables[i]
		out = append(out, dialect.WrittenName{Schema: t.Schema, Name: t.Table},
			dialect.WrittenName{Schema: t.Schema, Name: c.slotTableOf(t, &schema.Table{Name: t.Table})})
	}
	return out
}

// names returns the names, as stored, of the tables that the facts are about.
func (sc *Schema) names() []dialect.WrittenName {
	var out []dialect.WrittenName
	seen := map[dialect.WrittenName]bool{}
	add := func(n dialect.WrittenName) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	table := func(t *schema.Table) {
		add(dialect.WrittenName{Schema: t.Schema, Name: t.Name})
		add(dialect.WrittenName{Schema: t.Counter.SlotTable.Schema, Name: t.Counter.SlotTable.Name})
	}
	for _, t := range sc.Counters() {
		table(t)
	}
	for _, t := range sc.Holders() {
		table(t)
	}
	for _, p := range sc.Plain {
		table(p.Table)
	}
	return out
}

// readWithMarks reads the marks of tables, and then their facts with load. It reads again, with
// more marks, if a name turns out to mean another table than was assumed. It returns nil if load does.
func (c *Catalog) readWithMarks(ctx context.Context, v *View, how loading, load func() (*Schema, error)) (*Schema, error) {
	d := c.watcher()
	if d == nil || how.purpose == forSession {
		return load()
	}
	names := c.writtenNames()
	for tries := 1; ; tries++ {
		began := clock()
		got, err := d.Marks(ctx, v.Own(), names)
		if err != nil {
			return nil, err
		}
		sc, err := load()
		if err != nil || sc == nil {
			return nil, err
		}
		marks := map[dialect.WrittenName]dialect.Mark{}
		for i, n := range names {
			if how.home {
				marks[n] = got[i]
			}
			if got[i].Name != "" {
				marks[dialect.WrittenName{Schema: got[i].Schema, Name: got[i].Name}] = got[i]
			}
		}
		more := false
		for _, n := range sc.names() {
			if _, ok := marks[n]; !ok {
				names, more = append(names, n), true
			}
		}
		if !more || tries > 2 {
			c.Watch.note(c, sc, marks, how.purpose == forRenewal)
			if how.home {
				c.Watch.lookedAt(began)
			}
			return sc, nil
		}
	}
}

// note keeps the marks of facts that are now used. Facts of another namespace that were read at
// other marks are out of date.
func (w *watch) note(s *Catalog, sc *Schema, marks map[dialect.WrittenName]dialect.Mark, differ bool) {
	w.mu.Lock()
	for n, m := range marks {
		old, ok := w.marks[n]
		differ = differ || ok && old != m
	}
	w.mu.Unlock()
	if differ && !sc.Stale() && s.Expire() == sc.fresh.changes+1 {
		sc.fresh.changes++ // these are the newer ones
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if sc.Stale() {
		return // nothing is kept of them
	}
	if w.marks == nil {
		w.marks = map[dialect.WrittenName]dialect.Mark{}
	}
	maps.Copy(w.marks, marks)
	w.remarked()
}

// forget drops the marks of facts that are no longer in use.
func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = nil
	w.remarked()
}

// remarked notes that the marks are others. The caller holds w.mu.
func (w *watch) remarked() {
	w.sharing.marked++
	w.unshare()
}

// compare looks whether the tables are as they were when the facts were read, and calls differs if
// they are not.
func (c *Catalog) compare(ctx context.Context, v *View, differs func()) error {
	began, changes := clock(), c.Noticed.Changes.Load()
	names, want, marked := c.Watch.marked(c.atHome(ctx, v))
	d := c.watcher()
	if d == nil || len(names) == 0 {
		c.Watch.lookedAt(began) // the next reading takes marks
		return nil
	}
	asked := time.Now()
	glance, err := d.Glance(ctx, v.Session(), names, want) // kept prepared by the parent
	if err != nil {
		return err
	}
	c.Watch.answered(time.Since(asked))
	same := c.Watch.still(glance, c.awaiting())
	if !same {
		got, err := d.Marks(ctx, v.Own(), names)
		if err != nil {
			return err
		}
		if same = slices.Equal(got, want); same {
			c.Watch.glanced(glance)
		}
	}
	if same {
		if same, err = c.sameTargets(ctx, v); err != nil {
			return err
		}
	}
	if same {
		c.share(v, []any{names, want}, marked, began)
	}
	if !same && c.Noticed.Changes.Load() == changes {
		c.Names.ViewDDL.Store(true) // there may be new views
		differs()
	}
	c.Watch.lookedAt(began)
	c.remind(ctx)
	return nil
}

// remind logs what is still as it was.
func (c *Catalog) remind(ctx context.Context) {
	c.notes.absent.remind(ctx, c)
	c.notes.remarks.remind(ctx, c)
}

// marked returns the names that there are marks of, in order, these, and how often they have changed. Away from
// home a name without a schema may mean another table.
func (w *watch) marked(home bool) (names []dialect.WrittenName, marks []dialect.Mark, changes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	names = slices.SortedFunc(maps.Keys(w.marks), func(a, b dialect.WrittenName) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	if !home {
		names = slices.DeleteFunc(names, func(n dialect.WrittenName) bool { return n.Schema == "" })
	}
	for _, n := range names {
		marks = append(marks, w.marks[n])
	}
	return names, marks, w.sharing.marked
}

// changeEnds is how long a change of a definition that has begun may take to end, where the engine
// does not show its end: a new name that nobody has used yet.
const changeEnds = 5 * time.Second

// still reports whether a glance shows that nothing has changed since the last look. It does not while a change that has
// begun may not have ended, or if the look decides how a statement runs on a table that is still to come, and a change may
// have begun before that ends now.
func (w *watch) still(g dialect.Glance, awaiting bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return g.State != "" && g.State == w.glance.State && g.Begun == w.glance.Begun && w.settled == 0 && !(awaiting && g.Begun != "")
}

// glanced keeps a glance after which the marks were still the same.
func (w *watch) glanced(g dialect.Glance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g.Begun != w.glance.Begun {
		w.settled = clock() + changeEnds
	}
	if g.Ended || clock() >= w.settled {
		w.settled = 0
	}
	w.glance = g
}

// awaiting reports whether tables are still to come.
func (c *Catalog) awaiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Home.Facts != nil && len(c.Home.Facts.awaited) > 0
}
