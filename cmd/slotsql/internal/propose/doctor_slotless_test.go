package propose_test

import (
	"context"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/integration/twin"
)

// contendAlone has statements wait for a row that a statement outside of a transaction has
// locked, until the test ends.
func contendAlone(t *testing.T, p *twin.Pair, waiting ...string) {
	t.Helper()
	// It locks row 7, and sleeps at row 8.
	sleep := map[string]string{"mysql": "SLEEP(600) = 0", "postgres": "pg_sleep(600) IS NOT NULL"}[p.Dialect]
	for i, q := range append([]string{"UPDATE posts SET views = views + 1 WHERE id IN (7, 8) AND (id = 7 OR " + sleep + ")"}, waiting...) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = p.Under.ExecContext(ctx, q) // it is cancelled
		}()
		t.Cleanup(func() { cancel(); <-done })
		if i == 0 {
			locked(t, p)
		}
	}
}

// locked waits until row 7 is locked.
func locked(t *testing.T, p *twin.Pair) {
	t.Helper()
	for {
		var id int
		err := p.Under.QueryRowContext(t.Context(), "SELECT id FROM posts WHERE id = 7 FOR UPDATE SKIP LOCKED").Scan(&id)
		if err != nil && strings.Contains(err.Error(), "no rows") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Where no transaction holds the row over round trips, groups are enough: slots: 0 is
// proposed, which slots cannot do for a statement with a bound.
func TestDoctorProposesNoSlots(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		contendAlone(t, p, "UPDATE posts SET views = views + 1 WHERE id = 7", "UPDATE posts SET views = views - 1 WHERE id = 7 AND views >= 0")
		r := seen(t, p, 2, doctor.Options{})
		if len(r.Spots) != 1 || r.Spots[0].Verdict != "yes" || !strings.Contains(r.Spots[0].Why, "slots: 0") {
			t.Fatalf("%+v", r.Spots[0])
		}
		if want := "version: 1\nauto_migrate: true\ntables:\n  posts:\n    slots: 0\n    counters:\n      views:\n"; r.Propose != want {
			t.Errorf("proposed\n%s\nnot\n%s", r.Propose, want)
		}
		config, err := slotsql.Parse([]byte(r.Propose), "proposal")
		if err != nil {
			t.Fatal(err)
		}
		r = seen(t, p, 2, doctor.Options{Config: config})
		if s := r.Spots[0]; s.Verdict != "configured" || !strings.Contains(s.Why, "for another process") || r.Propose != "" {
			t.Errorf("%+v", s)
		}
	})
}

// A transaction that holds the row over round trips is nothing that groups shorten. Slots are
// advised where they can hold the counter, and only there.
func TestDoctorHeldByTransactions(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		config, err := slotsql.Parse([]byte("version: 1\ntables: {posts: {slots: 0, counters: {views: {}}}}\n"), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		why := func(p *twin.Pair) string {
			t.Helper()
			s := seen(t, p, 1, doctor.Options{Config: config}).Spots[0]
			if s.Verdict != "configured" || !strings.Contains(s.Why, "groups (slots: 0) cannot shorten") {
				t.Errorf("%+v", s)
			}
			return s.Why
		}
		const add, guarded = "UPDATE posts SET views = views + 1 WHERE id = 7", "UPDATE posts SET views = views - 1 WHERE id = 7 AND views >= 0"
		p := doctorPair(t, dialect)
		contend(t, p, add, guarded)
		r := seen(t, p, 1, doctor.Options{})
		if len(r.Spots) != 1 || r.Spots[0].Verdict != "no" || r.Propose != "" {
			t.Errorf("%+v\n%s", r.Spots[0], r.Propose)
		}
		if got := why(p); strings.Contains(got, "slots: 64") || !strings.Contains(got, "not slotted: ") || !strings.Contains(got, "min: or max:") {
			t.Error(got)
		}
		p = doctorPair(t, dialect)
		contend(t, p, add, add)
		if got := why(p); !strings.Contains(got, "write slots: 64") {
			t.Error(got)
		}
		p = doctorPair(t, dialect)
		twin.ExecAll(t, p.Under, "ALTER TABLE posts ADD CHECK (views >= 0)")
		contend(t, p, add, add)
		if got := why(p); strings.Contains(got, "slots: 64") || !strings.HasSuffix(got, "a CHECK constraint uses the column's base value: for slots replace it by min: 0 and a condition in WHERE") {
			t.Error(got)
		}
		// The reason is the same where the configuration asks for slots.
		if config, err = slotsql.Parse([]byte("version: 1\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml"); err != nil {
			t.Fatal(err)
		}
		const reason = "the waiting statements do not go to slots: counter posts.views is not slotted: a CHECK constraint"
		if s := seen(t, p, 1, doctor.Options{Config: config}).Spots[0]; !strings.HasPrefix(s.Why, reason) {
			t.Errorf("%+v", s)
		}
	})
}
