// Package dialect holds the dialects to their conformance suite, on databases of
// their engines.
package dialect

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/slotsql/slotsql/dialect/dialecttest"
	pgdialect "github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
	"github.com/slotsql/slotsql/rewrite/schema"
	"github.com/slotsql/slotsql/sqlite"
)

// open returns a way to open a new database.
func open(driver string, dsn func(*testing.T) string) func(*testing.T) *sql.DB {
	return func(t *testing.T) *sql.DB {
		t.Helper()
		db, err := sql.Open(driver, dsn(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
}

func TestConformance(t *testing.T) {
	for _, o := range []dialecttest.Options{
		{
			Dialect:   mysql.Dialect(),
			Unread:    []string{"JSON_TABLE"},
			Open:      open("mysql", func(t *testing.T) string { return server.MariaDB(t) }),
			Impatient: "SET SESSION innodb_lock_wait_timeout = 1",
			Changes: []string{
				"CREATE TRIGGER up BEFORE UPDATE ON posts FOR EACH ROW SET NEW.best = 1",
				"DROP TRIGGER up",
				"ALTER TABLE posts ADD CONSTRAINT small CHECK (views < 100000)",
				"ALTER TABLE posts DROP CONSTRAINT small",
				"ALTER TABLE posts ALTER COLUMN best SET DEFAULT 3",
				"DROP INDEX posts_grp ON posts",
				"DROP INDEX posts_seen ON posts",
				"ALTER TABLE posts PARTITION BY HASH (id) PARTITIONS 2",
				"RENAME TABLE posts TO thing",
				"RENAME TABLE thing TO posts",
			},
			Columns: []dialecttest.Column{
				{
					Definition: "u INT UNSIGNED NOT NULL DEFAULT 3",
					Facts: schema.Column{
						Name: "u", Type: "int(10) unsigned", HasDefault: true,
						NumericType: schema.NumericType{Numeric: schema.Integer, Unsigned: true, Bits: 32},
					},
				},
				{Definition: "r DOUBLE", Facts: schema.Column{Name: "r", Type: "double", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Float}}},
				{
					Definition: "g BIGINT AS (u * 2) VIRTUAL",
					Facts: schema.Column{
						Name: "g", Type: "bigint(20)", Nullable: true, Generated: true, DependsOn: []string{"u"}, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64},
					},
				},
			},
		},
		{
			Dialect:   postgres.Dialect(),
			Open:      open("pgx", func(t *testing.T) string { return server.Postgres(t) }),
			Impatient: "SET lock_timeout = '200ms'",
			Changes: []string{
				"ALTER TABLE posts ALTER COLUMN best SET DEFAULT 3",
				"ALTER TABLE posts ALTER COLUMN best SET DEFAULT 4",
				"ALTER TABLE posts ALTER COLUMN grp DROP NOT NULL",
				"ALTER TABLE posts DROP COLUMN more",
				"ALTER TABLE posts ADD CONSTRAINT small CHECK (views < 100000) NOT VALID",
				"ALTER TABLE posts VALIDATE CONSTRAINT small",
				"ALTER TABLE posts RENAME CONSTRAINT small TO little",
				"ALTER TABLE posts DROP CONSTRAINT little",
				"ALTER INDEX posts_grp RENAME TO posts_group",
				"DROP INDEX posts_group",
				"ALTER INDEX posts_pkey RENAME TO posts_key",
				"ALTER TABLE posts RENAME CONSTRAINT posts_key TO posts_pkey",
				"CREATE TRIGGER up BEFORE UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
				"ALTER TABLE posts DISABLE TRIGGER up",
				"DROP TRIGGER up ON posts",
				"CREATE POLICY own ON posts USING (views > 0)",
				"ALTER POLICY own ON posts USING (views > 1)",
				"ALTER TABLE posts ENABLE ROW LEVEL SECURITY",
				"DROP POLICY own ON posts",
				"CREATE RULE more AS ON UPDATE TO posts DO ALSO NOTHING",
				"DROP RULE more ON posts",
				"CREATE TABLE child () INHERITS (posts)",
				"CREATE UNIQUE INDEX child_seen ON child (seen)",
				"ALTER TABLE child NO INHERIT posts",
				"ALTER TABLE child INHERIT posts",
				"CREATE VIEW below AS SELECT * FROM child",
				"CREATE OR REPLACE VIEW below AS SELECT * FROM child WHERE id > 1",
				"DROP TABLE child CASCADE",
				"CREATE TABLE referring (id BIGINT REFERENCES posts ON DELETE CASCADE)",
				"DROP TABLE referring",
				"CREATE DOMAIN natural_number AS INT; ALTER TABLE posts ADD COLUMN n natural_number",
				"ALTER DOMAIN natural_number ADD CONSTRAINT natural_check CHECK (VALUE >= 0)",
				"ALTER DOMAIN natural_number SET DEFAULT 1",
				"ALTER DOMAIN natural_number DROP CONSTRAINT natural_check",
				"GRANT SELECT (id) ON posts TO PUBLIC",
				"CREATE TABLE child () INHERITS (posts)",
				"DROP TABLE child",
				"CREATE TABLE whole (id BIGINT NOT NULL) PARTITION BY RANGE (id)",
				"ALTER TABLE whole ATTACH PARTITION absent FOR VALUES FROM (0) TO (9)",
				"CREATE VIEW over_whole AS SELECT * FROM whole",
				"ALTER TABLE whole DETACH PARTITION absent",
				"CREATE TABLE parent (id BIGINT NOT NULL)",
				"CREATE TABLE grandparent (id BIGINT NOT NULL)",
				"ALTER TABLE absent INHERIT parent",
				"ALTER TABLE parent INHERIT grandparent",
				"ALTER TABLE parent NO INHERIT grandparent",
				"ALTER TABLE absent NO INHERIT parent",
				"ALTER SCHEMA public RENAME TO elsewhere",
				"ALTER SCHEMA elsewhere RENAME TO public",
				"CREATE SCHEMA other; ALTER TABLE posts SET SCHEMA other",
				"ALTER TABLE other.posts SET SCHEMA public",
				"ALTER TABLE posts RENAME TO thing",
				"ALTER TABLE thing RENAME TO posts",
				"CREATE TABLE thing (id BIGINT)",
				"CREATE SCHEMA AUTHORIZATION CURRENT_USER CREATE TABLE thing (id BIGINT)", // the first one of the search path
				"DROP TABLE thing",
				"CREATE TABLE thing (id BIGINT)",
				"DO $$BEGIN EXECUTE format('ALTER SCHEMA %I RENAME TO other_user', CURRENT_USER); END$$",
				"DROP TABLE thing",
			},
			Glances: []dialecttest.Glance{pgdialect.GlanceKept},
			Columns: []dialecttest.Column{
				{Definition: "s SMALLINT NOT NULL", Facts: schema.Column{Name: "s", Type: "smallint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 16}}},
				{
					Definition: "d NUMERIC(12,2)",
					Facts:      schema.Column{Name: "d", Type: "numeric(12,2)", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Decimal, Precision: 12, Scale: 2}},
				},
				{Definition: "r REAL", Facts: schema.Column{Name: "r", Type: "real", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Float}}},
				{
					Definition: "g INT GENERATED ALWAYS AS (s + 1) STORED",
					Facts: schema.Column{
						Name: "g", Type: "integer", Nullable: true, Generated: true, DependsOn: []string{"s"}, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32},
					},
				},
			},
		},
		{
			Dialect:   sqlite.Dialect(),
			Open:      open("sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }),
			Impatient: "PRAGMA busy_timeout = 100",
			Changes: []string{
				"CREATE TRIGGER up AFTER UPDATE ON posts BEGIN SELECT 1; END",
				"DROP TRIGGER up",
				"ALTER TABLE posts RENAME COLUMN more TO others",
				"ALTER TABLE posts RENAME TO thing",
				"ALTER TABLE thing RENAME TO posts",
			},
			Columns: []dialecttest.Column{
				{Definition: "r REAL", Facts: schema.Column{Name: "r", Type: "REAL", Nullable: true, NumericType: schema.NumericType{Numeric: schema.Float}}},
				{
					Definition: "g INT AS (r * 2)",
					Facts: schema.Column{
						Name: "g", Type: "INT", Nullable: true, Generated: true, DependsOn: []string{"r"}, NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64},
					},
				},
			},
		},
	} {
		t.Run(o.Dialect.Name(), func(t *testing.T) { dialecttest.Run(t, o) })
	}
}
