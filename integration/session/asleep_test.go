package session

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// untilAsleep waits until a table has no slots.
func untilAsleep(t *testing.T, p *twin.Pair, slots string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); value(t, p.Under, "SELECT COUNT(*) FROM "+slots) != "0"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the table does not fall asleep")
		}
	}
}

// A table sleeps again when its hot rows have cooled, though no roll-up is configured.
func TestFallsAsleep(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		table := "naps_" + dialect // no other test has it
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  []string{"CREATE TABLE " + table + " (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO " + table + " VALUES (1, 0)"},
			Config:  "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: adaptive}\ntables: {" + table + ": {counters: {views: {}}}}\n",
		})
		state := func() (s slotsql.SleepStats) {
			t.Helper()
			all := slotsql.Sleeps()
			i := slices.IndexFunc(all, func(s slotsql.SleepStats) bool { return s.Table == table })
			if i < 0 {
				t.Fatalf("%s is not in %+v", table, all)
			}
			return all[i]
		}
		count := "UPDATE " + table + " SET views = views + 1 WHERE id = 1"
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := state(); s.Awake || s.WokenBy != "" || !s.Since.IsZero() {
			t.Errorf("before: %+v", s)
		}
		var woken slotsql.SleepStats
		counted := strconv.Itoa(queue(t, p, count, func() bool {
			woken = state()
			return woken.Awake && woken.Trial.Kept // a trial on a busy machine may fail, and is made again
		}))
		if woken.WokenBy != "an increment here" || woken.Since.IsZero() {
			t.Errorf("awake: %+v", woken)
		}
		e, err := slotsql.Explain(t.Context(), p.Wrapped, count)
		if err != nil {
			t.Fatal(err)
		}
		if trial := woken.Trial; trial.With < trial.Before || !strings.Contains(strings.Join(e.Notes, "\n"), "and "+trial.String()) {
			t.Errorf("trial: %s; explained:\n%s", trial, e)
		}
		if got := value(t, p.Wrapped, "SELECT COUNT(*) FROM "+table+" WHERE id = 1 AND views = "+counted); got != "1" {
			t.Errorf("the total is not %s", counted)
		}
		base := "SELECT views FROM " + table + " WHERE id = 1"
		for end := time.Now().Add(2 * time.Minute); value(t, p.Under, base) != counted; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the row is not folded")
			}
		}
		untilAsleep(t, p, table+"_slots")
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) { // the folder tells it when it has looked
			s := state()
			if !s.Awake && s.WokenBy == "an increment here" && s.Since.After(woken.Since) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("asleep: %+v", s)
			}
		}
	})
}

// The slots of a process that has ended are folded by one that connects.
func TestFallsAsleepForAnother(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, slotted := coldCompanions(t, dialect)
		for _, what := range []string{"a", "b"} {
			if _, err := slotted.ExecContext(t.Context(), see(dialect, what, 1, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if got := value(t, p.Under, "SELECT COUNT(*) FROM seen_posts_slots"); got == "0" {
			t.Fatal("no slots")
		}
		if err := slotted.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := twin.OpenWrapped(twin.Plain[dialect], p.WrappedDSN, p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if err := again.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		untilAsleep(t, p, "seen_posts_slots")
		if got := value(t, p.Under, "SELECT "+spaced(dialect, "views", "seen", "top")+" FROM seen_posts WHERE id = 1"); got != "2 b 1" {
			t.Errorf("the base row has %s", got)
		}
	})
}

// Slots that a process finds when it reads are folded: the process that has made them may have died. At most one round is owed to the
// look after the first connection.
func TestFallsAsleepForReader(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := adaptive(t, dialect)
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= 3; round++ {
			if _, err := p.Under.ExecContext(t.Context(), "INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 0, 1, 0)"); err != nil {
				t.Fatal(err)
			}
			if got := value(t, p.Wrapped, "SELECT MAX(views) FROM posts"); got != strconv.Itoa(round) {
				t.Fatalf("%s views in round %d", got, round)
			}
			untilAsleep(t, p, "posts_slots")
		}
	})
}
