package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// TestUpdateTriggersAreReported: a counter that triggers keep from slots is
// reported with the key that accepts them, on each engine and for each kind of
// trigger.
func TestUpdateTriggersAreReported(t *testing.T) {
	triggers := map[string][]string{
		"mysql": {
			"CREATE TRIGGER x BEFORE UPDATE ON posts FOR EACH ROW SET NEW.title = 'x'",
			"CREATE TRIGGER x AFTER UPDATE ON posts FOR EACH ROW INSERT INTO log VALUES (NEW.id, 'x')",
		},
		"sqlite": {
			"CREATE TRIGGER x BEFORE UPDATE ON posts BEGIN INSERT INTO log (note) VALUES ('x'); END",
			"CREATE TRIGGER x AFTER UPDATE OF title ON posts BEGIN INSERT INTO log (note) VALUES ('x'); END",
		},
		"postgres": {
			"CREATE TRIGGER x BEFORE UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()",
			"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER x AFTER INSERT OR UPDATE ON posts FOR EACH STATEMENT EXECUTE FUNCTION f()",
		},
	}
	each(t, func(t *testing.T, dialect string) {
		for _, trigger := range triggers[dialect] {
			for _, deferred := range []bool{false, true} {
				key := ""
				if deferred {
					key = "defer_triggers: true, "
				}
				p := twin.New(t, twin.Options{
					Dialect: dialect, Schema: append(schema(dialect), trigger),
					Config: "version: 1\nauto_migrate: true\ntables: {posts: {" + key + "counters: {views: {}}}}\n",
				})
				e, err := slotsql.Explain(t.Context(), p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
				if err != nil {
					t.Fatal(err)
				}
				if slotted := e.Class == "additive"; slotted != deferred {
					t.Errorf("%s: %s with defer_triggers %v", trigger, e.Class, deferred)
				}
				status := checked(t, p)
				if len(status) != 1 || len(status[0].Counters) != 1 {
					t.Fatalf("%+v", status)
				}
				if c := status[0].Counters[0]; c.Slotted != deferred || strings.Contains(c.Reason, "defer_triggers: true") == deferred {
					t.Errorf("%s: reported as %+v", trigger, c)
				}
			}
		}
	})
}

func checked(t *testing.T, p *twin.Pair) []slotsql.TableStatus {
	t.Helper()
	driver := twin.Wrapped[p.Dialect]
	config, err := slotsql.Load(p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	c, err := slotsql.OpenConnector(driver, p.WrappedDSN, slotsql.WithConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	status, err := slotsql.Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return status
}
