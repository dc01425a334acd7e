package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// DDL inside another statement is noticed at once, as DDL by itself is: in this session and in others.
func TestDDLInAnotherStatement(t *testing.T) {
	const onMySQL = "CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW " +
		"INSERT INTO log SELECT COALESCE(MAX(l.id), 0) + 1, NEW.views - OLD.views FROM log l"
	const onPostgres = "CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION told()"
	const more = "ALTER TABLE posts ADD COLUMN more INTEGER DEFAULT 7"
	statements := map[string][]string{
		"mysql": {
			"EXECUTE IMMEDIATE '" + onMySQL + "'", "BEGIN NOT ATOMIC " + more + "; END", "EXECUTE IMMEDIATE CONCAT('DROP TRIGGER', ' told')",
			"IF 1 = 1 THEN " + onMySQL + "; END IF", "EXECUTE IMMEDIATE 'ALTER TABLE posts DROP COLUMN more'",
		},
		"postgres": {
			"DO $$BEGIN " + onPostgres + "; END$$", "DO $$BEGIN " + more + "; END$$", "DO $$BEGIN DROP TRIGGER told ON posts; END$$",
			"DO $$BEGIN EXECUTE '" + onPostgres + "'; END$$", "DO $$BEGIN ALTER TABLE posts DROP COLUMN more; END$$",
		},
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		if dialect == "mysql" && lacks(t, dialect, "versioned") {
			return // MySQL has no such statements
		}
		list := schema(dialect)
		if dialect == "postgres" {
			list = append(list, "CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS "+
				"'BEGIN INSERT INTO log SELECT COALESCE(MAX(id), 0) + 1, NEW.views - OLD.views FROM log; RETURN NULL; END'")
		}
		for name, config := range map[string]string{"adaptive": config, "always": always} {
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{Dialect: dialect, Schema: list, Config: config, Params: unprepared[dialect]})
				one, other := pinned(t, p), pinned(t, p)
				for _, query := range statements[dialect] {
					for _, in := range []both{other, one} {
						in.same(t, twin.Statement{SQL: work[0]})
					}
					one.same(t, twin.Statement{SQL: query})
					for _, in := range []both{other, one, other} {
						for _, q := range []string{"SELECT * FROM posts ORDER BY id", work[0], work[1], "SELECT id, note FROM log ORDER BY id"} {
							in.same(t, twin.Statement{SQL: q})
						}
					}
				}
			})
		}
	})
}
