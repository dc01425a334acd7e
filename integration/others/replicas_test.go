package others

import (
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// eventually waits until a query of another server has a result.
func eventually(t *testing.T, db twin.Querier, query, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); twin.Rows(t, db, query) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s, not %s", query, twin.Rows(t, db, query), want)
		}
	}
}

// A hot standby shows a state of the primary, whatever it has got so far: recovery to a point in time ends at such a one.
// A call of the function by SELECT is refused there, not lost.
func TestStandby(t *testing.T) {
	twin.Serves(t, "postgres")
	primary, err := server.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(primary.Stop)
	s := serve(t, "postgres", primary.DSN, "")
	s.visits(t, 0, 1)
	second, err := server.StartPostgresStandby(primary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	standby := open(t, "postgres", second.DSN)
	s.during(t, func() {
		for range 50 {
			whole(t, standby)
		}
	})
	eventually(t, standby, views, twin.Rows(t, s.plain, visits))
	if _, err := standby.ExecContext(t.Context(), "SELECT posts_count(1, 1)"); err == nil || !strings.Contains(err.Error(), "25006") {
		t.Errorf("a count on the standby: %v", err)
	}
}

// A logical replica of all tables has totals, once it has the slot table; one of the counter table alone has base values,
// which a roll-up brings up to date.
func TestLogicalReplicas(t *testing.T) {
	s := serve(t, "postgres", server.Logged(t, "postgres"), "")
	twin.ExecAll(t, s.plain, "CREATE PUBLICATION every FOR ALL TABLES", "CREATE PUBLICATION listed FOR TABLE posts, visits")
	s.visits(t, 0, 2)
	subscribe := func(publication string, tables ...string) twin.Querier {
		dsn := server.Logged(t, "postgres")
		only := []string{"--schema-only"}
		for _, table := range tables {
			only = append(only, "--table="+table)
		}
		psql(t, dsn, s.dump(t, only...))
		db := open(t, "postgres", dsn)
		// A slot of another database of the same server cannot be created by the subscription.
		name := "others_" + publication
		twin.Rows(t, s.plain, "SELECT pg_create_logical_replication_slot('"+name+"', 'pgoutput')")
		twin.ExecAll(t, db, "CREATE SUBSCRIPTION "+name+" CONNECTION '"+s.dsn+"' PUBLICATION "+publication+
			" WITH (create_slot = false, slot_name = '"+name+"')")
		// Until then each table is copied by itself.
		eventually(t, db, "SELECT COUNT(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'", "0")
		t.Cleanup(func() {
			for _, q := range []string{"ALTER SUBSCRIPTION " + name + " DISABLE", "ALTER SUBSCRIPTION " + name + " SET (slot_name = NONE)", "DROP SUBSCRIPTION " + name} {
				if _, err := db.Exec(q); err != nil {
					t.Error(err)
				}
			}
			for {
				if _, err := s.plain.Exec("SELECT pg_drop_replication_slot('" + name + "')"); err == nil {
					return // the sender is gone
				}
			}
		})
		return db
	}
	unslotted := open(t, "postgres", server.Logged(t, "postgres"))
	twin.ExecAll(t, unslotted, schema...)
	_, err := unslotted.ExecContext(t.Context(), "CREATE SUBSCRIPTION unslotted CONNECTION '"+s.dsn+"' PUBLICATION every WITH (create_slot = false)")
	if err == nil || !strings.Contains(err.Error(), `posts_slots" does not exist`) {
		t.Errorf("a subscriber without the slot table: %v", err)
	}
	every, listed := subscribe("every"), subscribe("listed", "posts", "visits")
	s.during(t, func() { s.visits(t, 2, 10) })
	s.visits(t, 10, 13)
	count := twin.Rows(t, s.plain, visits)
	eventually(t, every, visits, count)
	want(t, every, views, count)
	eventually(t, listed, visits, count)
	want(t, listed, base, twin.Rows(t, s.plain, base))
	if twin.Rows(t, s.plain, base) == count {
		t.Error("nothing is in a slot")
	}
	s.moved(t)
	eventually(t, listed, base, count)
}
