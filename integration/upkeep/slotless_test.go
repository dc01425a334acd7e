package upkeep

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

const (
	slotless    = "version: 1\nauto_migrate: true\ndefaults: {slots: 0}\ntables:\n  posts: {counters: {views: {}, likes: {}}}\n"
	slotted     = "version: 1\ndefaults: {slots: 64, placement: connection}\ntables:\n  posts: {counters: {views: {}, likes: {}}}\n"
	accompanied = "version: 1\nauto_migrate: true\ntables:\n  posts: {slots: 64, counters: {views: {}}, companions: {seen: max}}\n"
)

// unslotted is a table without a slot table.
func unslotted(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Config: slotless, Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, likes BIGINT NOT NULL, views BIGINT NOT NULL, seen BIGINT)",
		"INSERT INTO posts VALUES (1, 10, 0, NULL), (2, 20, 0, NULL)"}})
}

// A fleet goes from none to slots and back, with processes of either configuration side by
// side. Totals are exact for both at each step.
func TestSlotsComeAndGo(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := unslotted(t, dialect)
		none := open(t, p, slotless)
		kept, err := none.Conn(t.Context()) // in use all the time
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		views, likes := 0, 10
		count := func(runners ...process) {
			t.Helper()
			both(t, runners)
			views, likes = views+20*len(runners), likes-20*len(runners)
		}
		exact := func(step string, readers ...process) {
			t.Helper()
			for i, r := range readers {
				if v, l := totals(t, r.DB); v != views || l != likes {
					t.Errorf("%s, reader %d: views %d, likes %d, want %d and %d", step, i, v, l, views, likes)
				}
			}
			if v, l := totals(t, kept); v != views || l != likes {
				t.Errorf("%s, a connection kept: views %d, likes %d, want %d and %d", step, v, l, views, likes)
			}
		}
		count(none)
		exact("without slots", none)
		if tables, err := p.Under.QueryContext(t.Context(), "SELECT 1 FROM posts_slots"); err == nil {
			tables.Close()
			t.Fatal("there is a slot table")
		}
		if ddl, err := slotsql.DDL(t.Context(), open(t, p, slotless).connector); err != nil || len(ddl) > 0 {
			t.Errorf("DDL: %v %v", ddl, err)
		}
		if created, err := slotsql.Migrate(t.Context(), open(t, p, slotless).connector); err != nil || len(created) > 0 {
			t.Errorf("migrated: %v %v", created, err)
		}

		// The slot table comes first, while no process counts in it, and every process notices.
		if _, err := slotsql.Migrate(t.Context(), open(t, p, slotted).connector); err != nil {
			t.Fatal(err)
		}
		if err := twin.Notice(t.Context(), none.DB); err != nil {
			t.Fatal(err)
		}
		count(none)
		exact("with a slot table", none)
		many := open(t, p, slotted)
		count(many, none, many, none)
		exact("side by side", none, many)
		if in := held(t, p); in != 40 {
			t.Errorf("slots hold %d views, want the 40 of those that have them", in)
		}
		if s := status(t, p); !s.LeftOver || s.SlotTable != "posts_slots" {
			t.Errorf("check: %+v", s)
		}

		// A process without slots drains as well as others.
		if n := affected(t, none.DB, "UPDATE posts SET views = 5 WHERE id = 1 AND views > 0"); n != 1 {
			t.Errorf("a SET affects %d rows", n)
		}
		views = 5
		exact("after a SET", none, many)
		count(many, none)
		exact("after more", many, none)

		// Back: no process fills slots any more, then they are dropped.
		if err := many.Close(); err != nil {
			t.Fatal(err)
		}
		count(none)
		exact("with slots left over", none)
		reports, err := slotsql.Drain(t.Context(), open(t, p, slotless).connector, slotsql.DrainOptions{})
		if err != nil || len(reports) != 1 || reports[0].NoSlots || reports[0].Moved+reports[0].Folded == 0 {
			t.Fatalf("drained: %+v %v", reports, err)
		}
		exact("drained", none)
		dropped, err := slotsql.MigrateDown(t.Context(), open(t, p, slotless).connector)
		if err != nil || !strings.Contains(strings.Join(dropped, " "), "posts_slots") {
			t.Fatalf("dropped: %v %v", dropped, err)
		}
		count(none)
		exact("without slots again", none)
		if s := status(t, p); s.LeftOver || s.SlotTable != "" || s.Slots != 0 {
			t.Errorf("check: %+v", s)
		}
		reports, err = slotsql.Drain(t.Context(), open(t, p, slotless).connector, slotsql.DrainOptions{Tables: []string{"posts"}})
		if err != nil || len(reports) != 1 || !reports[0].NoSlots {
			t.Errorf("drained: %+v %v", reports, err)
		}
		found, err := slotsql.Verify(t.Context(), open(t, p, slotless).connector, slotsql.VerifyOptions{})
		if err != nil || len(found) != 1 || len(found[0].Findings) > 0 {
			t.Errorf("verified: %+v %v", found, err)
		}
		if e, err := twin.Explain(t, open(t, p, slotless).connector, "SELECT views FROM posts"); err != nil || e.Class != "pass-through" {
			t.Errorf("explained: %+v %v", e, err)
		}
	})
}

// Slots with a companion that the configuration does not name are not left to be
// forgotten.
func TestCompanionLeftOver(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := unslotted(t, dialect)
		execAll(t, open(t, p, accompanied), "UPDATE posts SET views = views + 1, seen = 1 WHERE id = 1")
		err := open(t, p, slotless).PingContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), `"seen"`) {
			t.Errorf("connected: %v", err)
		}
	})
}

// Base values are held against their recount, and put right.
func TestRecountWithoutSlots(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := unslotted(t, dialect)
		config := "version: 1\ndefaults: {slots: 0}\ntables:\n  posts:\n    counters:\n" +
			"      views: {recount: \"SELECT id, likes AS views FROM posts\"}\n      likes: {min: 15}\n"
		for _, fix := range []bool{false, true} {
			r, err := slotsql.Verify(t.Context(), open(t, p, config).connector, slotsql.VerifyOptions{Fix: fix})
			if err != nil || len(r) != 1 || len(r[0].Findings) != 3 || len(r[0].Recounted) != 1 {
				t.Fatalf("%+v %v", r, err)
			}
		}
		if v, _ := totals(t, p.Under); v != 10 {
			t.Errorf("views are %d", v)
		}
	})
}

// Another program's table by the name of a slot table is none.
func TestNotASlotTable(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := unslotted(t, dialect)
		if _, err := p.Under.ExecContext(t.Context(), "CREATE TABLE posts_slots (id INT PRIMARY KEY, slot INT, views BIGINT)"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Under.ExecContext(t.Context(), "INSERT INTO posts_slots VALUES (1, 1, 7)"); err != nil {
			t.Fatal(err)
		}
		none := open(t, p, slotless)
		execAll(t, none, "UPDATE posts SET views = views + 1 WHERE id = 1")
		if v, _ := totals(t, none.DB); v != 1 {
			t.Errorf("views are %d", v)
		}
		if dropped, err := slotsql.MigrateDown(t.Context(), open(t, p, slotless).connector); err != nil || len(dropped) > 0 {
			t.Errorf("dropped %v: %v", dropped, err)
		}
	})
}

// both has processes count the first post side by side, twenty times each.
func both(t *testing.T, runners []process) {
	t.Helper()
	var wg sync.WaitGroup
	for _, r := range runners {
		wg.Go(func() {
			for range 20 {
				if _, err := r.ExecContext(t.Context(), "UPDATE posts SET views = views + 1, likes = likes - 1 WHERE id = 1"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// totals reads the counters of the first post.
func totals(t *testing.T, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (views, likes int) {
	t.Helper()
	if err := on.QueryRowContext(t.Context(), "SELECT views, likes FROM posts WHERE id = 1").Scan(&views, &likes); err != nil {
		t.Fatal(err)
	}
	return views, likes
}

// held is what slots have of views.
func held(t *testing.T, p *twin.Pair) (sum int) {
	t.Helper()
	if err := p.Under.QueryRowContext(t.Context(), "SELECT SUM(views) FROM posts_slots").Scan(&sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

// status is what Check finds of the table with slots: 0.
func status(t *testing.T, p *twin.Pair) slotsql.TableStatus {
	t.Helper()
	tables, err := slotsql.Check(t.Context(), open(t, p, slotless).connector)
	if err != nil || len(tables) != 1 {
		t.Fatalf("%+v: %v", tables, err)
	}
	return tables[0]
}
