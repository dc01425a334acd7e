package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A definition that makes a fold visible, or forbids one, comes to be through
// slotsql itself: what slots hold by then is folded before, and nothing that the
// definition does is done for it.
func TestFoldsBecomeVisible(t *testing.T) {
	const logged = "INSERT INTO log (id, note) SELECT COALESCE(MAX(id), 0) + 1, 'fired' FROM log"
	inString := strings.ReplaceAll(logged, "'", "''")
	definitions := map[string]map[string][]string{
		"mysql": {
			"after":   {"CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW " + logged},
			"before":  {"CREATE TRIGGER told BEFORE UPDATE ON posts FOR EACH ROW SET NEW.title = CONCAT(OLD.title, '+')"},
			"replace": {"CREATE OR REPLACE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW " + logged},
			"touched": {"ALTER TABLE posts ADD COLUMN changes INT AS (views * 2) STORED"},
			"unique":  {"CREATE UNIQUE INDEX one ON posts (views)"},
			"check":   {"ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 12)"},
		},
		"postgres": {
			"after": {
				"CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + inString + "; RETURN NULL; END'",
				"CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION told()",
			},
			"statement": {
				"CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + inString + "; RETURN NULL; END'",
				"CREATE TRIGGER told AFTER INSERT OR UPDATE ON public.posts EXECUTE FUNCTION told()",
			},
			"constraint": {
				"CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + inString + "; RETURN NULL; END'",
				"CREATE CONSTRAINT TRIGGER told AFTER UPDATE ON posts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION told()",
			},
			"enabled": {
				"CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + inString + "; RETURN NULL; END'",
				"CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION told()",
				"ALTER TABLE posts DISABLE TRIGGER told",
				"UPDATE posts SET views = views + 1 WHERE id = 1",
				"ALTER TABLE posts ENABLE TRIGGER told",
			},
			"rule":      {"CREATE RULE told AS ON UPDATE TO posts DO ALSO " + logged},
			"unique":    {"CREATE UNIQUE INDEX one ON posts (views)"},
			"check":     {"ALTER TABLE posts ADD CONSTRAINT few CHECK (views < 12)"},
			"generated": {"ALTER TABLE posts ADD COLUMN twice INT GENERATED ALWAYS AS (views * 2) STORED"},
		},
		"sqlite": {
			"after":     {"CREATE TRIGGER told AFTER UPDATE ON posts BEGIN " + logged + "; END"},
			"of":        {"CREATE TRIGGER IF NOT EXISTS told BEFORE UPDATE OF views ON posts BEGIN " + logged + "; END"},
			"unique":    {"CREATE UNIQUE INDEX one ON posts (views)"},
			"generated": {"ALTER TABLE posts ADD COLUMN twice INT AS (views * 2)"},
		},
	}
	each(t, func(t *testing.T, dialect string) {
		for name, statements := range definitions[dialect] {
			for _, way := range []string{"alone", "in transaction", "rolled back"} {
				if way != "alone" && dialect == "mysql" {
					continue // DDL commits
				}
				t.Run(name+" "+way, func(t *testing.T) {
					p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: always, Params: unprepared[dialect]})
					one, other := pinned(t, p), pinned(t, p)
					const first, second = "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE posts SET views = views + 2 WHERE id = 2"
					const fired = "SELECT COUNT(*) FROM log"
					one.script(t, &other, first, "UPDATE posts SET views = views + 9 WHERE id = 1")
					run := append([]string{second}, statements...)
					switch way {
					case "in transaction":
						run = append(append([]string{"BEGIN"}, run...), first, "COMMIT")
					case "rolled back":
						run = append(append([]string{"BEGIN"}, run...), first, "ROLLBACK")
					}
					for _, query := range run {
						one.same(t, twin.Statement{SQL: query})
					}
					one.same(t, twin.Statement{SQL: fired})
					for range 2 {
						for _, query := range []string{first, second, "UPDATE posts SET views = 3 WHERE id = 3", "UPDATE posts SET views = views + 0 WHERE id = 2"} {
							one.same(t, twin.Statement{SQL: query})
							one.same(t, twin.Statement{SQL: fired})
							other.same(t, twin.Statement{SQL: fired})
						}
						one.script(t, &other)
					}
					other.script(t, &one, "UPDATE posts SET views = views + 1 WHERE id < 3", first)
					one.same(t, twin.Statement{SQL: fired})
					final(t, p)
				})
			}
		}
	})
}
