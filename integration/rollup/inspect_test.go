package rollup

import (
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// An inspection counts slots, knows the age of what they may hold once a roll-up has left
// nothing behind, and changes nothing.
func TestInspect(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)",
				"INSERT INTO posts (id) VALUES (1), (2), (3)",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {placement: random, slots: 64}\ntables: {posts: {counters: {views: {}}}}\n",
		})
		i, err := slotsql.NewInspector(twin.Connector(t, p))
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		look := func(rows, slots int) slotsql.TableInspection {
			t.Helper()
			seen, err := i.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(seen.Tables) != 1 || seen.Tables[0].Rows != rows || seen.Tables[0].Slots != slots || seen.Tables[0].More {
				t.Fatalf("%+v, want %d rows with %d slots", seen.Tables, rows, slots)
			}
			return seen.Tables[0]
		}
		if _, err := i.Look(t.Context()); err == nil {
			t.Error("there is no slot table yet, and it was not reported")
		}
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 1 WHERE id = 2")
		if ti := look(2, 2); ti.Lag != nil || ti.SlotTable != "posts_slots" {
			t.Errorf("before any pass: %+v", ti)
		}
		begun := time.Now()
		rollUp(t, p)
		if ti := look(0, 0); ti.Lag != nil || ti.Idle != idle(dialect, 2) {
			t.Errorf("after a pass: %+v", ti)
		}
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 3")
		ti := look(1, 1)
		if server := dialect != "sqlite"; server != (ti.Lag != nil) {
			t.Fatalf("a count after a pass: %+v", ti)
		} else if server && (*ti.Lag <= 0 || *ti.Lag > time.Since(begun)+time.Second) {
			t.Errorf("lag %s", *ti.Lag)
		}
	})
}

// Sessions that wait for a row of the table are counted, on servers.
func TestInspectWaits(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		if dialect == "sqlite" {
			return // it has one writer, and does not show who waits
		}
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE posts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)",
				"INSERT INTO posts (id) VALUES (1)",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4}\ntables: {posts: {counters: {views: {}}}}\n",
			Params: patience[dialect],
		})
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
		tx, err := p.Wrapped.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "UPDATE posts SET views = 7 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := p.Wrapped.ExecContext(t.Context(), "UPDATE posts SET views = 8 WHERE id = 1")
			done <- err
		}()
		i, err := slotsql.NewInspector(twin.Connector(t, p))
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		for {
			seen, err := i.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if ti := seen.Tables[0]; ti.Waits+ti.SlotWaits == 1 {
				break
			} else if len(done) > 0 || len(seen.Lacks) > 0 {
				t.Fatalf("no session is seen to wait: %+v, %+v", ti, seen.Lacks)
			}
			time.Sleep(150 * time.Millisecond) // MariaDB renews its list when it has not been read for 0.1 s
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
