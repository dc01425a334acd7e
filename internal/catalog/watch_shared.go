package catalog

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Connectors of one process that use the same tables of a server look in turns. What one of them has
// found unchanged holds for each whose facts were read at the same marks, by the same user, in the same
// namespace: a look is a comparison with these marks, so nothing else about a connector matters to its
// result. Only that is passed on: a connector learns of a change, and of an error, by its own look.

// lookOwn is how often a connector looks by itself nevertheless: its server may have become another than
// that of the others. Where it has to ask for foreign keys to its counters, it does so for each of those questions.
const lookOwn = time.Minute

// sharedLook is a comparison that several connectors make.
type sharedLook struct {
	turn  chan struct{} // has an element while one of them looks
	began atomic.Int64  // when the last look began that found the marks unchanged, by clock
	users int           // under sharedLooks
}

var sharedLooks struct {
	sync.Mutex
	by map[[sha256.Size]byte]*sharedLook // by server, session and marks
}

// sharing is what a connector has to do with others. The watch's mu guards it.
type sharing struct {
	look   *sharedLook // nil: it has not looked since its marks have changed
	key    [sha256.Size]byte
	marked int           // how often its marks have changed
	own    time.Duration // when it looked by itself, by clock; 0: it is to do so
	closed bool
}

// foundByOthers reports whether a look of another connector has been taken over. If not, this one is to
// look, and call leave once it has compared.
func (w *watch) foundByOthers(ctx context.Context) (taken bool, leave func()) {
	w.mu.Lock()
	l, own := w.sharing.look, w.sharing.own
	w.mu.Unlock()
	limit := lookOwn
	if w.targeted.Load() {
		limit = lookTargets
	}
	if l == nil || own == 0 || clock()-own >= limit {
		return false, func() {}
	}
	late := time.NewTimer(lookFirst - lookAgain)
	defer late.Stop()
	select {
	case l.turn <- struct{}{}:
	case <-late.C: // the other one has a slow connection
		return false, func() {}
	case <-ctx.Done():
		return false, func() {}
	}
	leave = sync.OnceFunc(func() { <-l.turn })
	if began := time.Duration(l.began.Load()); clock()-began < lookAgain {
		leave()
		w.lookedAt(began)
		return true, nil
	}
	return false, leave
}

// share tells others of a look on the side connection that found these marks unchanged.
func (c *Catalog) share(v *View, compared any, marked int, began time.Duration) {
	if v.sees == nil || *v.sees == "" {
		return
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%T %q %v %q", c.Dialect, *v.sees, c.awaiting(), compared))
	w := &c.Watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sharing.closed || w.sharing.marked != marked {
		return
	}
	if w.sharing.look == nil || w.sharing.key != key {
		w.unshare()
		w.sharing.look, w.sharing.key = joinLook(key), key
	}
	w.sharing.own = began
	l := w.sharing.look
	for at := l.began.Load(); at < int64(began) && !l.began.CompareAndSwap(at, int64(began)); {
		at = l.began.Load()
	}
}

func joinLook(key [sha256.Size]byte) *sharedLook {
	sharedLooks.Lock()
	defer sharedLooks.Unlock()
	l := sharedLooks.by[key]
	if l == nil {
		if sharedLooks.by == nil {
			sharedLooks.by = map[[sha256.Size]byte]*sharedLook{}
		}
		l = &sharedLook{turn: make(chan struct{}, 1)}
		sharedLooks.by[key] = l
	}
	l.users++
	return l
}

// lookItself makes the next look the connector's own.
func (w *watch) lookItself() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sharing.own = 0
}

// unshare leaves the others, of whom the last one leaves nothing. The caller holds w.mu.
func (w *watch) unshare() {
	l := w.sharing.look
	if l == nil {
		return
	}
	w.sharing.look = nil
	sharedLooks.Lock()
	defer sharedLooks.Unlock()
	if l.users--; l.users == 0 {
		delete(sharedLooks.by, w.sharing.key)
	}
}

// Close ends what is under way on the side connection, and closes it.
func (w *watch) Close() {
	w.Side.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sharing.closed = true
	w.unshare()
}

// identify notes once what a side connection sees: which server, as which user, and which tables by their names. If it
// cannot be told, or differs between connections of the connector, looks are not shared.
func (v *View) identify(ctx context.Context) {
	d := v.Catalog.watcher()
	if v.sees != nil || d == nil {
		return
	}
	v.sees = new(string)
	if v.Catalog.ParentHooks.Any() {
		return
	}
	server, err := d.Server(ctx, v.Session())
	if err != nil || server == "" {
		return
	}
	if ns, err := v.Catalog.Dialect.Namespace(ctx, v.Session()); err == nil {
		*v.sees = fmt.Sprintf("%q", []string{server, ns.Names, ns.Settings})
	}
}
