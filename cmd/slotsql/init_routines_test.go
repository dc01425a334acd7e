package main

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A counter that only a trigger writes is proposed for that, and the proposal is enough for ddl to print the trigger with a call.
func TestInitNamesTriggers(t *testing.T) {
	for _, e := range []struct {
		testedEngine
		trigger []string
		call    string
	}{
		{testedEngine{"mysql", "mysql", server.MariaDB}, []string{
			"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW UPDATE posts SET comments = comments + 1 WHERE id = NEW.post_id",
			"CREATE PROCEDURE reset(p INT) UPDATE posts SET comments = 0 WHERE id = p",
		}, "`posts_count`(NEW.post_id, 1)"},
		{testedEngine{"postgres", "pgx", server.Postgres}, []string{
			"CREATE FUNCTION added() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE posts SET comments = comments + 1 WHERE id = NEW.post_id; RETURN NEW; END'",
			"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION added()",
			"CREATE PROCEDURE reset(p INT) LANGUAGE sql AS 'UPDATE posts SET comments = 0 WHERE id = p'",
		}, `"posts_count"(NEW.post_id, "comments" => 1)`},
	} {
		t.Run(e.driver, func(t *testing.T) {
			dsn, db := e.database(t, "CREATE TABLE posts (id BIGINT PRIMARY KEY, comments INT NOT NULL)", "CREATE TABLE comments (post_id BIGINT NOT NULL)")
			twin.ExecAll(t, db, e.trigger...)
			run := func(args ...string) string {
				t.Helper()
				out, errs, code := command(t, "", append(args, "--driver", e.driver, "--dsn", dsn)...)
				if code != 0 {
					t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
				}
				return out
			}
			proposal := run("init")
			for _, want := range []string{
				"\n  posts:\n    counters:\n      comments: # counted by trigger commented of table comments: slotsql ddl --functions --triggers prints ",
				"#   trigger commented of table comments: UPDATE posts SET comments = comments + ? WHERE id = ?\n",
				": UPDATE posts SET comments = ? WHERE id = ?\n  #     not drained inside the database",
			} {
				if !strings.Contains(proposal, want) {
					t.Errorf("no %q in\n%s", want, proposal)
				}
			}
			if out := run("ddl", "--functions", "--triggers", "--config", writeFile(t, proposal)); !strings.Contains(out, e.call) {
				t.Errorf("no %s in\n%s", e.call, out)
			}
		})
	}
}
