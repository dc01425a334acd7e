package session

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Several statements in one call, one of which changes the table that those after it count in: each of
// them is planned for the table that it finds, however many come between.
func TestBatchChangesTable(t *testing.T) {
	const trigger = "CREATE TRIGGER told AFTER UPDATE ON posts "
	triggers := map[string]string{
		"sqlite": trigger + "BEGIN INSERT INTO log (note) VALUES (NEW.views - OLD.views); END",
		"mysql":  trigger + "FOR EACH ROW INSERT INTO log SELECT COALESCE(MAX(l.id), 0) + 1, NEW.views - OLD.views FROM log l",
		"postgres": "CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS " +
			"'BEGIN INSERT INTO log SELECT COALESCE(MAX(id), 0) + 1, NEW.views - OLD.views FROM log; RETURN NULL; END'; " +
			trigger + "FOR EACH ROW EXECUTE FUNCTION told()",
	}
	drops := map[string]string{"sqlite": "DROP TRIGGER told", "mysql": "DROP TRIGGER told", "postgres": "DROP FUNCTION told CASCADE"}
	create := "CREATE TABLE posts (id INTEGER PRIMARY KEY, title VARCHAR(100), likes INTEGER, views INTEGER NOT NULL DEFAULT 0)"
	batches := map[string][]string{
		"anew":    {"DROP TABLE posts", create, "INSERT INTO posts (id, views, likes) VALUES (1, 5, 6)", work[0], work[2], work[1], work[0]},
		"emptied": {"DELETE FROM posts", "INSERT INTO posts (id, views, likes) VALUES (1, 5, 6)", work[0], work[2], work[0]},
		"renamed": {
			work[0], "ALTER TABLE posts RENAME TO away", "UPDATE away SET views = views + 1 WHERE id = 1", "SELECT 1",
			"ALTER TABLE away RENAME TO posts", work[0], work[2], work[0],
		},
		"column": {"ALTER TABLE posts ADD COLUMN more INTEGER DEFAULT 4", work[0], "UPDATE posts SET more = views WHERE id = 1", work[0]},
		"joined": {
			"CREATE TABLE extra (id INTEGER PRIMARY KEY, likes INTEGER)", "INSERT INTO extra VALUES (1, 7)", work[0],
			"UPDATE posts SET likes = (SELECT likes FROM extra WHERE extra.id = posts.id) WHERE id = 1", "DROP TABLE extra", work[1],
		},
	}
	batches["trigger"] = nil // below
	none := strings.Replace(config, "slots: 8", "slots: 0", 1)
	each(t, func(t *testing.T, dialect string) {
		for name, list := range batches {
			if name == "trigger" {
				list = []string{triggers[dialect], work[0], work[0], work[1], work[2], drops[dialect], work[0], work[2]}
			}
			for placement, config := range map[string]string{"adaptive": config, "always": always, "none": none} {
				t.Run(name+"/"+placement, func(t *testing.T) {
					params := map[string]string{"mysql": "multiStatements=true"}[dialect] + unprepared[dialect]
					p := twin.New(t, twin.Options{Dialect: dialect, Schema: schema(dialect), Config: config, Params: params})
					one, other := pinned(t, p), pinned(t, p)
					one.script(t, &other, work[0], strings.Join(list, "; "), work[0], work[2], work[0])
					one.same(t, twin.Statement{SQL: "SELECT note FROM log ORDER BY id"})
				})
			}
		}
	})
}
