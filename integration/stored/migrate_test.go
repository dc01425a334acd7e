package stored

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

var everything = slotsql.Stored{Functions: true, Views: true}

// The DDL of each layout.
func TestStoredDDL(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		for layout := range layouts {
			p := twin.New(t, twin.Options{
				Dialect: dialect, Config: "version: 1\nauto_migrate: true\ntables: {posts: " + layouts[layout] + "}\n", Schema: []string{posts},
			})
			ddl, err := slotsql.StoredDDL(t.Context(), twin.Connector(t, p), slotsql.Stored{Functions: dialect != "sqlite", Views: true})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, p, layout, ddl)
		}
	})
}

// Creating functions and views again changes nothing; what is older is replaced, and reported before; what another program has created
// stays; and what slotsql has created goes with the slot tables, unless a trigger calls it.
func TestMigrateStored(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := pair(t, dialect, "dedicated", "")
		c := twin.Connector(t, p)
		status := func() []slotsql.StoredStatus {
			t.Helper()
			tables, err := slotsql.Check(t.Context(), c)
			if err != nil || len(tables) != 1 {
				t.Fatal(tables, err)
			}
			if tables[0].Unnamed != "" {
				t.Error(tables[0].Unnamed)
			}
			return tables[0].Stored
		}
		migrated := func(c *slotsql.Connector) string {
			t.Helper()
			created, err := slotsql.MigrateStored(t.Context(), c, everything)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(created, " ")
		}
		want(t, "nothing to do", migrated(c), "")
		if s := status(); len(s) != 2 || s[0].Older || s[1].Older {
			t.Errorf("%+v", s)
		}
		fewer, err := slotsql.Parse([]byte("version: 1\ntables: {posts: {slots: 4, counters: {views: {}}}}\n"), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		want(t, "with another configuration", migrated(twin.ConnectorWith(t, p, fewer)), "posts_count")
		if s := status(); len(s) != 2 || !s[0].Older {
			t.Errorf("%+v", s)
		}
		want(t, "replaced", migrated(c), "posts_count")
		if n := call(t, p.Under, "posts_count", "1, 1, 1"); n != 1 {
			t.Errorf("%d rows", n)
		}

		twin.ExecAll(t, p.Under, "CREATE TABLE comments (id INT PRIMARY KEY, post_id BIGINT NOT NULL)")
		twin.ExecAll(t, p.Under, countedByTrigger[dialect]...)
		if dropped, err := slotsql.MigrateDown(t.Context(), c); err == nil || len(dropped) > 0 || !strings.Contains(err.Error(), "commented") {
			t.Errorf("a trigger calls the function: dropped %v, %v", dropped, err)
		}
		twin.ExecAll(t, p.Under, "DROP TABLE comments")
		if dialect == "postgres" {
			twin.ExecAll(t, p.Under, "DROP FUNCTION commented")
		}
		dropped, err := slotsql.DropStored(t.Context(), c, slotsql.Stored{Views: true})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "the view is dropped", strings.Join(dropped, " "), "posts_totals")
		twin.ExecAll(t, p.Under, "CREATE VIEW posts_totals AS SELECT id FROM posts")
		if _, err := slotsql.MigrateStored(t.Context(), c, everything); err == nil || !strings.Contains(err.Error(), "posts_totals") {
			t.Errorf("another program's view: %v", err)
		}
		dropped, err = slotsql.MigrateDown(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "all is dropped", strings.Join(dropped, " "), "posts_count posts_slots slotsql_leases")
		want(t, "another program's view", twin.Rows(t, p.Under, "SELECT id FROM posts_totals ORDER BY id"), "1\n2")
	})
}

// A view that lacks a counter which has been added would show too little: Migrate replaces it.
func TestMigrateReplacesViews(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect, Config: "version: 1\nauto_migrate: true\ntables: {posts: {slots: 8, counters: {views: {}}}}\n",
			Schema: []string{posts, "INSERT INTO posts VALUES (1, 'a', 10, 1)"},
		})
		install(t, p)
		more, err := slotsql.Parse([]byte("version: 1\ntables: {posts: {slots: 8, counters: {views: {}, likes: {}}}}\n"), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := slotsql.Migrate(t.Context(), twin.ConnectorWith(t, p, more)); err != nil {
			t.Fatal(err)
		}
		twin.ExecAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 3, 5, 6)")
		want(t, "totals", twin.Rows(t, p.Under, "SELECT id, title, views, likes FROM posts_totals"), "1 a 15 7")
	})
}

// SQLite has views, and no functions.
func TestSQLite(t *testing.T) {
	p := pair(t, "sqlite", "dedicated", "")
	twin.ExecAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 3, 5, 6)")
	want(t, "totals", twin.Rows(t, p.Under, totals), "1 15 7\n2 20 NULL")
	want(t, "through slotsql", twin.Rows(t, p.Wrapped, totals), "1 15 7\n2 20 NULL")
	c := twin.Connector(t, p)
	for _, err := range []error{
		second(slotsql.StoredDDL(t.Context(), c, everything)), second(slotsql.MigrateStored(t.Context(), c, everything)),
		second(slotsql.TriggerDDL(t.Context(), c)),
	} {
		if err == nil || !strings.Contains(err.Error(), "sqlite has no functions") {
			t.Errorf("got %v", err)
		}
	}
	dropped, err := slotsql.DropStored(t.Context(), c, slotsql.Stored{Functions: true, Views: true})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "dropped", strings.Join(dropped, " "), "posts_totals")
}

func second(_ []string, err error) error { return err }
