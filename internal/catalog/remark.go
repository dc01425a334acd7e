package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// remarks are about tables that cannot be counted in slots as they are, while statements run
// right on the base rows. The migrations of an application pass through such tables, so a
// remark is logged only when it still holds after a while.
type remarks struct {
	mu    sync.Mutex
	after time.Duration
	found map[string]*remark
}

type remark struct {
	table, what, why string
	facts            *Schema // the last that it holds in
	since            time.Time
	said             bool
}

// settling is longer than a migration stays with one definition of a table.
const settling = 10 * time.Second

// remark notes something about a table in these facts.
func (sc *Schema) remark(t *schema.Table, what, why string) {
	rs := &sc.Catalog.notes.remarks
	id := t.Schema + "\x00" + t.Name + "\x00" + what + why
	rs.mu.Lock()
	r := rs.found[id]
	if r == nil {
		r = &remark{table: t.Name, what: what, why: why, since: time.Now()}
		rs.found[id] = r
	}
	r.facts = sc
	rs.mu.Unlock()
}

// remind logs the remarks that hold in facts that are current, and have held for a while.
func (rs *remarks) remind(ctx context.Context, c *Catalog) {
	var due []*remark
	rs.mu.Lock()
	for _, r := range rs.found {
		if !r.said && time.Since(r.since) >= rs.after && !r.facts.Stale() {
			r.said = true
			due = append(due, r)
		}
	}
	rs.mu.Unlock()
	for _, r := range due {
		c.Log().WarnContext(ctx, r.what, "table", r.table, "reason", r.why)
	}
}
