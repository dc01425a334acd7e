package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// What is wrong with a table is logged once, when it has been so for a while, and not if the
// facts have changed since.
func TestRemarksSettle(t *testing.T) {
	c, log := logged(t, "version: 1\ntables: {posts: {counters: {views: {}}}}")
	posts := &schema.Table{Schema: "public", Name: "posts"}
	older, current := &Schema{Catalog: c}, &Schema{Catalog: c}
	older.remark(posts, unfitting, "no views")
	older.remark(posts, unfitting, "no key")
	current.remark(posts, unfitting, "no key")
	older.fresh.dropped.Store(true)
	remind := func(want int) {
		t.Helper()
		c.notes.remarks.remind(t.Context(), c)
		if got := strings.Count(log.String(), "level=WARN"); got != want || strings.Contains(log.String(), "no views") {
			t.Errorf("%d warnings, want %d: %s", got, want, log)
		}
	}
	remind(0)
	for _, r := range c.notes.remarks.found {
		r.since = time.Now().Add(-settling)
	}
	remind(1)
	current.remark(posts, unfitting, "no key")
	remind(1)
}
