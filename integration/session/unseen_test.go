package session

import (
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// What an account may not see of a table is not taken for absent: a constraint that
// it does not see has its increments refused as with the plain driver, and what it
// cannot rule out keeps its counters from slots.
func TestUnseenDefinitions(t *testing.T) {
	const slots = "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO app"
	grants := map[string]string{
		"table":   "GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app",
		"mixed":   "GRANT SELECT (id, views, likes, title), UPDATE ON posts TO app",
		"columns": "GRANT SELECT (id, views, likes, title), UPDATE (views, likes) ON posts TO app",
		"some":    "GRANT SELECT (id, views, likes), UPDATE (views, likes) ON posts TO app",
	}
	changes := map[string]string{
		"none":      "",
		"column":    "ALTER TABLE posts MODIFY views INT NOT NULL CHECK (views < 13 OR views > 19)", // on MySQL a constraint of the table
		"table":     "ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 13 OR id > 1)",
		"other":     "ALTER TABLE posts ADD CONSTRAINT few CHECK (title <> 'x')",
		"generated": "ALTER TABLE posts ADD COLUMN twice INT AS (views * 2) STORED",
		"touched":   "ALTER TABLE posts ADD COLUMN changed TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP",
	}
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		for change, query := range changes {
			for name, rights := range grants {
				t.Run(change+" "+name, func(t *testing.T) {
					p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"), Config: strings.Replace(always, "slots:", "defer_triggers: true, slots:", 1)})
					twin.ExecAll(t, p.Wrapped, "UPDATE posts SET likes = likes + 1 WHERE id = 3") // makes the slot table
					twin.ExecAll(t, p.Plain, "UPDATE posts SET likes = likes + 1 WHERE id = 3")
					if query != "" {
						execBoth(t, p, []string{query})
					}
					users := mysqlUsers(t, p)
					users.grant(t, []string{rights, slots})
					s := users.open(t)(t)
					add := twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"}
					for range 4 { // 11, 12 and, with a constraint, no more
						s.same(t, add)
					}
					for _, q := range []string{"UPDATE posts SET views = views + 1 WHERE id = 2", "SELECT views FROM posts ORDER BY id", "UPDATE posts SET views = 2 WHERE id = 1"} {
						s.same(t, twin.Statement{SQL: q})
					}
					p.Same(t, twin.Statement{SQL: totals})
					if change != "touched" { // which has the time of either side
						final(t, p)
					}
					// Who may read all columns, and sees the constraints listed, sees that there are none.
					// MySQL lists constraints to anyone with a right on the table.
					hides := strings.Contains(query, "ADD COLUMN") || change != "none" && !server.MySQLVersion(t).MySQL
					unseen := name == "some" || name == "columns" && hides
					if change == "generated" && !unseen {
						return // Check reports the configuration
					}
					c := statusFor(t, p, users.dsn)
					if want := (change == "none" || change == "other") && !unseen; c.Slotted != want {
						t.Errorf("slotted is %v: %s", c.Slotted, c.Reason)
					}
					if strings.Contains(c.Reason, "may not see") != unseen {
						t.Errorf("reported as %q", c.Reason)
					}
				})
			}
		}
	})
}

// statusFor is what Check reports of the counter views to an account.
func statusFor(t *testing.T, p *twin.Pair, dsn string) slotsql.CounterStatus {
	t.Helper()
	config, err := slotsql.Load(p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	c, err := slotsql.OpenConnector(twin.Wrapped["mysql"], dsn, slotsql.WithConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	status, err := slotsql.Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, counter := range status[0].Counters {
		if counter.Column == "views" {
			return counter
		}
	}
	t.Fatalf("%+v", status)
	return slotsql.CounterStatus{}
}

// A constraint that comes to be while an account counts that does not see it listed is
// noticed all the same.
func TestUnlistedConstraintIsNoticed(t *testing.T) {
	t.Parallel()
	p := twin.New(t, twin.Options{Dialect: "mysql", Schema: schema("mysql"), Config: always})
	twin.ExecAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
	users := mysqlUsers(t, p)
	users.grant(t, []string{"GRANT SELECT, INSERT, UPDATE, TRIGGER ON posts TO app", "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO app"})
	db, err := twin.OpenWrapped("mysql", users.dsn, p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	slotted := func() bool {
		if _, err := db.ExecContext(t.Context(), "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := p.Under.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM posts_slots WHERE views <> 0").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
	if !slotted() {
		t.Error("the increment is not in a slot")
	}
	execAll(t, p.Under, "ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 10000000)")
	for deadline := time.Now().Add(5 * time.Minute); slotted(); {
		if time.Now().After(deadline) {
			t.Fatal("slots are still in use")
		}
	}
}
