package upkeep

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
)

// observed is a change that another client makes to a table, with T for its name.
type observed struct {
	name   string
	change map[string][]string // by dialect
	under  map[string][]string // before it, on the wrapped side
	// folded: docs/divergences.md has what slots hold folded first.
	folded bool
	// script makes the change show. The observer's row is N, and M a second one.
	script    []string
	unslotted bool              // increments of views are on the base row from then on
	gone      bool              // there are no views any more
	unfit     bool              // a program does not begin with such a table
	told      map[string]string // what check, verify and migrate say, or in part
	keyless   bool              // the slot table has no foreign key on MySQL
}

func onEvery(query string) map[string][]string {
	return map[string][]string{"mysql": {query}, "postgres": {query}, "sqlite": {query}}
}

func saidOf(part string) map[string]string {
	return map[string]string{"mysql": part, "postgres": part, "sqlite": part}
}

const noTriggers = "triggers that keep slot table"

const sameTable = "(id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0, likes INTEGER NOT NULL DEFAULT 0, title VARCHAR(20))"

var observations = []observed{
	{name: "none", change: onEvery("SELECT 1 FROM T")},
	{
		name: "check",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T ADD CONSTRAINT few CHECK (views < 5000)"},
			"postgres": {"ALTER TABLE T ADD CONSTRAINT few CHECK (views < 5000)"},
		},
		script:    []string{"UPDATE T SET views = views + 7000 WHERE id = N"},
		unslotted: true,
		told:      saidOf("CHECK"),
	},
	{
		name: "trigger",
		change: map[string][]string{
			"mysql":    {"CREATE TRIGGER T_on AFTER UPDATE ON T FOR EACH ROW INSERT INTO told VALUES (NEW.id)"},
			"postgres": {"CREATE TRIGGER T_on AFTER UPDATE ON T FOR EACH ROW EXECUTE FUNCTION tell()"},
			"sqlite":   {"CREATE TRIGGER T_on AFTER UPDATE ON T BEGIN INSERT INTO told VALUES (NEW.id); END"},
		},
		folded:    true,
		script:    []string{"UPDATE T SET views = views + 1 WHERE id = N", "SELECT COUNT(*) FROM told WHERE id = N"},
		unslotted: true,
		told:      saidOf("a trigger fires on UPDATE"),
	},
	{
		name: "on_update",
		change: map[string][]string{
			"mysql": {"ALTER TABLE T ADD COLUMN changed TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP"},
		},
		folded: true,
		script: []string{
			"UPDATE T SET changed = '2001-01-01' WHERE id = N",
			"UPDATE T SET views = views + 1 WHERE id = N",
			"SELECT changed > '2010-01-01' FROM T WHERE id = N",
			"UPDATE T SET changed = '2001-01-01' WHERE id = N",
		},
		unslotted: true,
		told:      saidOf("ON UPDATE"),
	},
	{
		name:      "versioned",
		change:    map[string][]string{"mysql": {"ALTER TABLE T ADD SYSTEM VERSIONING"}},
		folded:    true,
		script:    []string{"UPDATE T SET views = views + 1 WHERE id = N", "SELECT COUNT(*) FROM T FOR SYSTEM_TIME ALL WHERE id = N"},
		unslotted: true,
		told:      saidOf("system versioning"),
	},
	{
		name:      "security",
		change:    map[string][]string{"postgres": {"ALTER TABLE T ENABLE ROW LEVEL SECURITY"}},
		unslotted: true,
		told:      saidOf("row-level security"),
	},
	{
		name:   "unique",
		change: onEvery("CREATE UNIQUE INDEX T_one ON T (views)"),
		script: []string{"UPDATE T SET views = N * 10000 WHERE id = M", "UPDATE T SET views = N * 10000 - 1 WHERE id = N",
			"UPDATE T SET views = views + 1 WHERE id = N", "UPDATE T SET views = N * 1000 WHERE id = N"},
		unslotted: true,
		told:      saidOf("unique key"),
	},
	{
		name: "generated",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T ADD COLUMN twice INT AS (views * 2) STORED"},
			"postgres": {"ALTER TABLE T ADD COLUMN twice INT GENERATED ALWAYS AS (views * 2) STORED"},
			"sqlite":   {"ALTER TABLE T ADD COLUMN twice INT AS (views * 2)"},
		},
		folded:    true,
		unslotted: true,
		told:      saidOf("generated column"),
	},
	{
		name:   "renamed",
		change: onEvery("ALTER TABLE T RENAME COLUMN views TO hits"),
		folded: true,
		script: []string{
			"UPDATE T SET hits = hits + 1 WHERE id = N",
			"SELECT * FROM T WHERE id = N",
			"UPDATE T SET views = views + 1 WHERE id = N",
			"UPDATE T SET likes = likes + 1 WHERE id = N",
			"UPDATE T SET hits = likes, likes = 3 WHERE id = N",
			"SELECT hits, likes FROM T WHERE id = N",
			"SELECT views FROM T",
		},
		gone:  true,
		unfit: true,
		told:  saidOf(`counter "views" is not a column`),
	},
	{
		name: "exchanged",
		change: map[string][]string{
			"mysql": {"ALTER TABLE T RENAME COLUMN views TO likes, RENAME COLUMN likes TO views"},
			"postgres": {"BEGIN; ALTER TABLE T RENAME COLUMN views TO x; ALTER TABLE T RENAME COLUMN likes TO views; " +
				"ALTER TABLE T RENAME COLUMN x TO likes; COMMIT"},
			"sqlite": {"BEGIN; ALTER TABLE T RENAME COLUMN views TO x; ALTER TABLE T RENAME COLUMN likes TO views; " +
				"ALTER TABLE T RENAME COLUMN x TO likes; COMMIT"},
		},
		folded: true,
	},
	{
		name: "fraction",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T MODIFY views DECIMAL(12,2) NOT NULL"},
			"postgres": {"ALTER TABLE T ALTER COLUMN views TYPE numeric(12,2)"},
		},
		script: []string{"UPDATE T SET views = views + 0.5 WHERE id = N"},
		told:   saidOf("which cannot hold counts"),
	},
	{
		name: "narrowed",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T MODIFY views SMALLINT NOT NULL"},
			"postgres": {"ALTER TABLE T ALTER COLUMN views TYPE smallint"},
		},
		script: []string{
			"UPDATE T SET views = views + 30000 WHERE id = N",
			"UPDATE T SET views = views + 30000 WHERE id = N",
			"UPDATE T SET views = 2 WHERE id = N",
		},
		unslotted: true,
		told:      saidOf("too narrow"),
	},
	{
		name: "widened",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T MODIFY views BIGINT NOT NULL"},
			"postgres": {"ALTER TABLE T ALTER COLUMN views TYPE bigint"},
		},
		script: []string{"UPDATE T SET views = views + 30000000000 WHERE id = N"},
	},
	{
		name: "wider_key",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T MODIFY id BIGINT NOT NULL"},
			"postgres": {"ALTER TABLE T ALTER COLUMN id TYPE bigint"},
		},
		script: []string{
			"INSERT INTO T (id) VALUES (50000000000 + N)",
			"UPDATE T SET views = views + 1 WHERE id = 50000000000 + N",
			"SELECT views FROM T WHERE id = 50000000000 + N",
			"DELETE FROM T WHERE id = 50000000000 + N",
		},
		told:    saidOf("key column"),
		keyless: true,
	},
	{
		name: "rebuilt",
		change: map[string][]string{
			"mysql":    {"ALTER TABLE T ADD COLUMN more INT FIRST, ENGINE=InnoDB, FORCE"},
			"postgres": {"ALTER TABLE T ALTER COLUMN title TYPE text, ADD COLUMN more INT DEFAULT 3"},
			"sqlite": {"PRAGMA foreign_keys = OFF; BEGIN; " +
				"CREATE TABLE T_new (id INTEGER PRIMARY KEY, views INT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0, more TEXT); " +
				"INSERT INTO T_new SELECT id, views, likes, 'x' FROM T; DROP TABLE T; ALTER TABLE T_new RENAME TO T; COMMIT; PRAGMA foreign_keys = ON"},
		},
		told: map[string]string{"sqlite": noTriggers},
	},
	{
		name: "recreated",
		change: map[string][]string{
			"mysql": {
				"SET foreign_key_checks = 0; DROP TABLE T; SET foreign_key_checks = 1; CREATE TABLE T " + sameTable,
				"INSERT INTO T (id) SELECT id FROM t_none",
			},
			"postgres": {"BEGIN; DROP TABLE T CASCADE; CREATE TABLE T " + sameTable + "; INSERT INTO T (id) SELECT id FROM t_none; COMMIT"},
			"sqlite":   {"BEGIN; DROP TABLE T; CREATE TABLE T " + sameTable + "; INSERT INTO T (id) SELECT id FROM t_none; COMMIT"},
		},
		folded: true,
		told:   map[string]string{"sqlite": noTriggers}, // elsewhere a foreign key is a choice
	},
	{
		name:   "anew",
		change: onEvery("DROP TABLE T; CREATE TABLE T " + sameTable + "; INSERT INTO T (id) SELECT id FROM t_none"),
		under:  onEvery("DROP TABLE T_slots"),
	},
	{
		name: "swapped",
		change: map[string][]string{
			"mysql": {"CREATE TABLE T_new LIKE T; INSERT INTO T_new SELECT * FROM T; RENAME TABLE T TO T_old, T_new TO T"},
			"postgres": {"BEGIN; CREATE TABLE T_new (LIKE T INCLUDING ALL); INSERT INTO T_new SELECT * FROM T; " +
				"ALTER TABLE T RENAME TO T_old; ALTER TABLE T_new RENAME TO T; COMMIT"},
			"sqlite": {"BEGIN; CREATE TABLE T_new " + sameTable + "; INSERT INTO T_new SELECT * FROM T; " +
				"ALTER TABLE T RENAME TO T_old; ALTER TABLE T_new RENAME TO T; COMMIT"},
		},
		script: []string{
			"INSERT INTO T (id) VALUES (1000 + N)",
			"UPDATE T SET views = views + 1 WHERE id = 1000 + N",
			"DELETE FROM T WHERE id = 1000 + N",
		},
		told: map[string]string{"mysql": "refers to", "postgres": "refers to", "sqlite": noTriggers},
	},
	{
		name:   "parted",
		change: map[string][]string{"postgres": {"CREATE TABLE T_more PARTITION OF T FOR VALUES FROM (1000) TO (2000)"}},
		script: []string{
			"INSERT INTO T (id) VALUES (1000 + N)",
			"UPDATE T SET views = views + 1 WHERE id = 1000 + N",
			"SELECT views FROM T_more WHERE id = 1000 + N",
			"UPDATE T_more SET views = 7 WHERE id = 1000 + N",
			"UPDATE T SET views = views + 1 WHERE id = 1000 + N",
			"SELECT * FROM T_more WHERE id = 1000 + N",
			"DELETE FROM T_more WHERE id = 1000 + N",
		},
	},
	{
		name:   "inherited",
		change: map[string][]string{"postgres": {"CREATE TABLE T_child () INHERITS (T)"}},
		folded: true,
		script: []string{
			"INSERT INTO T_child (id) VALUES (N)", "UPDATE T SET views = views + 1 WHERE id = N", "SELECT views FROM T_child WHERE id = N",
			"DELETE FROM T_child WHERE id = N",
		},
		unslotted: true,
		unfit:     true,
		told:      saidOf("tables that inherit from it"),
	},
}

// observationsOf are the changes that there are on the engine.
func observationsOf(t *testing.T, dialect string) (out []observed) {
	t.Helper()
	for _, o := range observations {
		if o.change[dialect] != nil && !(o.name == "versioned" && server.MySQLVersion(t).MySQL) {
			out = append(out, o)
		}
	}
	return out
}

// make makes the change on one of the sides.
func (c observed) make(t *testing.T, dialect string, db *sql.DB, under bool) {
	t.Helper()
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	statements := c.change[dialect]
	if under {
		statements = append(c.under[dialect][:len(c.under[dialect]):len(c.under[dialect])], statements...)
	}
	for _, query := range statements {
		execAll(t, one, placed(query, c.name, 0))
	}
}

// observedSchema has a table for each of the changes.
func observedSchema(dialect string, list []observed) []string {
	out := []string{"CREATE TABLE told (id INTEGER NOT NULL)"}
	if dialect == "postgres" {
		out = append(out, "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO told VALUES (NEW.id); RETURN NULL; END'")
	}
	for _, c := range list {
		table := "t_" + c.name
		if c.name == "parted" {
			out = append(out, "CREATE TABLE "+table+" "+sameTable+" PARTITION BY RANGE (id)")
			out = append(out, "CREATE TABLE "+table+"_first PARTITION OF "+table+" FOR VALUES FROM (0) TO (1000)")
		} else {
			out = append(out, "CREATE TABLE "+table+" "+sameTable)
		}
		for row := range 10 {
			for _, id := range []int{row, row + 100} {
				out = append(out, fmt.Sprintf("INSERT INTO %s (id, views, likes) VALUES (%d, %d, %d)", table, id, 20*id, id))
			}
		}
	}
	return out
}

// observedConfig configures tables for the changes.
func observedConfig(dialect string, list ...observed) string {
	var b strings.Builder
	b.WriteString("version: 1\nauto_migrate: true\ntables:\n")
	for _, c := range list {
		fmt.Fprintf(&b, "  t_%s: {slots: 8, placement: connection, counters: {views: {}, likes: {}}", c.name)
		if c.keyless && dialect == "mysql" {
			b.WriteString(", foreign_keys: false")
		}
		b.WriteString("}\n")
	}
	return b.String()
}
