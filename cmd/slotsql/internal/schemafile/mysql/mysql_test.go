package mysql

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql/cmd/slotsql/internal/sqlfile"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A schema file says the same of its tables as a database in which it was run.
func TestTables(t *testing.T) {
	for _, c := range []struct{ name, sql string }{
		{"posts", "CREATE TABLE posts (id INT UNSIGNED NOT NULL AUTO_INCREMENT, slug VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, a INT, b SMALLINT NOT NULL DEFAULT 3," +
			" views BIGINT NOT NULL DEFAULT 0, price DECIMAL(12,3), ratio DOUBLE, padded INT(5) ZEROFILL, twice BIGINT AS (views * 2) VIRTUAL, thrice INT GENERATED ALWAYS AS (a + b) STORED," +
			" changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, body TEXT, PRIMARY KEY (id), UNIQUE KEY z (slug), UNIQUE KEY ab (b, a), UNIQUE KEY pre (body(10)), KEY (a)," +
			" CONSTRAINT c1 CHECK (`views` >= 0 AND price < 100))"},
		{"types", "CREATE TABLE t (a TINYINT, b TINYINT(1), c BOOL, d MEDIUMINT UNSIGNED, e INTEGER(11), f BIGINT(20) UNSIGNED, g DEC, h NUMERIC(5), i FIXED(65,30), j REAL, k DOUBLE PRECISION, l FLOAT(7,2), m FLOAT," +
			" n CHAR, o NCHAR(3), p BINARY(16), q VARBINARY(255), r BLOB, s LONGTEXT, u ENUM('A','b'), v SET('x','Y'), w YEAR, x BIT, y DATETIME(3), z TIME)"},
		{"defaults", "CREATE TABLE t (a INT DEFAULT NULL, b INT DEFAULT 1, c INT NOT NULL, d VARCHAR(3) DEFAULT '', e DATETIME DEFAULT CURRENT_TIMESTAMP, f INT DEFAULT (1 + 1), g TIMESTAMP NULL DEFAULT NULL, h TIMESTAMP, i INT NOT NULL PRIMARY KEY AUTO_INCREMENT)"},
		{"charsets", "CREATE TABLE t (a VARCHAR(5), b VARCHAR(5) COLLATE latin1_bin, c VARCHAR(5) CHARACTER SET ascii, d TEXT CHARACTER SET utf8 COLLATE utf8_bin, e INT) DEFAULT CHARSET=latin1 COLLATE=latin1_general_ci"},
		{"table collation", "CREATE TABLE t (a VARCHAR(5), b CHAR(5) BINARY) COLLATE=utf8mb4_unicode_ci"},
		{"MariaDB's collations", "CREATE TABLE t (a VARCHAR(5), b VARCHAR(5) COLLATE 'utf8mb4_uca1400_as_ci', c CHAR(9) CHARACTER SET utf8mb3 COLLATE uca1400_ai_ci DEFAULT 'uca1400_x') DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_uca1400_ai_ci; CREATE TABLE u (a TEXT) CHARSET utf8mb4 COLLATE uca1400_ai_ci"},
		{"keys", "CREATE TABLE t (a INT UNIQUE, B INT UNIQUE KEY, c INT, UNIQUE (a), UNIQUE (b, c), KEY (c), UNIQUE INDEX (c), UNIQUE Zz (C, a), UNIQUE aa (c, b)); CREATE UNIQUE INDEX m ON t (a, b, c); CREATE INDEX n ON t (a)"},
		{"composite", "CREATE TABLE t (a INT, b VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, c INT, PRIMARY KEY (b, a))"},
		{"no key", "CREATE TABLE `o``dd name` (`a b` INT, `c;d` BIGINT)"},
		{"checks", "CREATE TABLE t (a INT CHECK (a > 0), b INT, c INT, d INT CHECK (1 < 2)); CREATE TABLE u (a INT, b INT CHECK (b > 0), CHECK (B < `a`), c INT)"},
		{"altered", "CREATE TABLE t (id INT NOT NULL, a INT, b INT); ALTER TABLE t ADD PRIMARY KEY (id), ADD UNIQUE KEY x (a), ADD KEY (b), ADD CONSTRAINT y UNIQUE (b);" +
			"ALTER TABLE t MODIFY id INT NOT NULL AUTO_INCREMENT; ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 5 AFTER id, ADD d INT UNIQUE FIRST; ALTER TABLE t CHANGE b bb BIGINT UNSIGNED; ALTER TABLE t DROP KEY x; ALTER TABLE t ADD CHECK (a > 0); ALTER TABLE t RENAME TO u"},
		{"like", "CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT NOT NULL DEFAULT 0 UNIQUE, g INT AS (v)); CREATE TABLE b LIKE a"},
		{"triggers", "CREATE TABLE t (a INT); CREATE TABLE u (a INT); CREATE TRIGGER x BEFORE DELETE ON t FOR EACH ROW SET @x = 1; CREATE DEFINER=CURRENT_USER TRIGGER `y` AFTER UPDATE ON `u` FOR EACH ROW SET @x = 1"},
		{"references", "CREATE TABLE p (id INT PRIMARY KEY); CREATE TABLE q (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE, q INT, CONSTRAINT f FOREIGN KEY (q) REFERENCES q (id) ON DELETE RESTRICT)"},
		{"references to no unique key", "CREATE TABLE p (id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a, b), KEY (c)); CREATE TABLE q (x INT, y INT, z INT, FOREIGN KEY (x, y) REFERENCES p (A, b), FOREIGN KEY (z) REFERENCES q (y) ON UPDATE CASCADE, KEY (y))"},
		{"partitions", "CREATE TABLE p (a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, d INT) PARTITION BY RANGE (a + 1) SUBPARTITION BY HASH (b) (PARTITION x VALUES LESS THAN (5), PARTITION y VALUES LESS THAN MAXVALUE);" +
			"CREATE TABLE q (a INT NOT NULL, b INT NOT NULL, c INT, PRIMARY KEY (a)) PARTITION BY KEY () PARTITIONS 2; CREATE TABLE r (a INT, `b b` INT, c INT) PARTITION BY RANGE COLUMNS (`b b`, a) (PARTITION x VALUES LESS THAN (5, 5));" +
			"CREATE TABLE s LIKE r; CREATE TABLE t (a INT, b INT); ALTER TABLE t PARTITION BY HASH (b) PARTITIONS 2; CREATE TABLE u LIKE r; ALTER TABLE u REMOVE PARTITIONING"},
		{"dump", "/*!40101 SET NAMES utf8mb4 */;\nDROP TABLE IF EXISTS `posts`;\n/*!40101 SET @saved_cs_client     = @@character_set_client */;\nCREATE TABLE `posts` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n" +
			"  `views` bigint(20) NOT NULL DEFAULT 0 COMMENT 'it''s; counted',\n  `at` datetime DEFAULT current_timestamp(),\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;\n" +
			"LOCK TABLES `posts` WRITE;\nINSERT INTO `posts` VALUES (1,2,NULL);\nUNLOCK TABLES;\n/*!50003 CREATE*/ /*!50017 DEFINER=CURRENT_USER*/ /*!50003 TRIGGER t BEFORE UPDATE ON posts FOR EACH ROW SET @x = 1 */;\nCREATE TEMPORARY TABLE tmp (a INT);"},
	} {
		if server.MySQLVersion(t).MySQL && slices.Contains([]string{"MariaDB's collations", "checks", "keys"}, c.name) {
			continue // of MariaDB: these collations, a column's CHECK of another column, the order of keys
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			d := mysql.New()
			run := func(st sqlfile.Statement) error { return s.Exec(t.Context(), st.SQL) }
			if err := sqlfile.Each(d.LexRules(), c.sql, run); err != nil {
				t.Fatal(err)
			}
			// Executable comments by themselves are no statements to the scanner.
			if strings.Contains(c.sql, "/*!50003") {
				if err := s.Exec(t.Context(), "CREATE TRIGGER t BEFORE UPDATE ON posts FOR EACH ROW SET @x = 1"); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Tables(c.sql)
			if err != nil {
				t.Fatal(err)
			}
			if n := value(
				t, s,
				"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE <> 'TEMPORARY'",
			); n != dialect.String(len(got)) {
				t.Errorf("%d tables, want %s", len(got), n)
			}
			for _, tb := range got {
				want, err := d.Table(t.Context(), s, "", tb.Name)
				if err != nil || want == nil {
					t.Fatal(tb.Name, want, err)
				}
				want.ForeignKeys.Parents = nil // told by databases only
				tb.Schema = want.Schema
				tb.Checks, want.Checks = nil, nil // the server spells conditions in its own way
				for _, list := range [][]schema.Computed{tb.Storage.Computed, want.Storage.Computed} {
					for i := range list {
						list[i].SQL = ""
					}
				}
				alike(tb, want)
				if !reflect.DeepEqual(tb, want) {
					got, want := strings.Split(fmt.Sprintf("%+v", *tb), " {"), strings.Split(fmt.Sprintf("%+v", *want), " {")
					for i := range max(len(got), len(want)) {
						if i >= len(got) || i >= len(want) || got[i] != want[i] {
							t.Errorf("%s\n got %s\nwant %s", tb.Name, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
						}
					}
				}
			}
		})
	}
}

// alike takes off what Tables does not know: display widths, and the
// character sets and collations that the server's defaults give.
func alike(got, want *schema.Table) {
	slices.Sort(got.Checked)
	slices.Sort(want.Checked)
	for i := range want.Columns {
		if i >= len(got.Columns) {
			return
		}
		// A key's columns are NOT NULL behind their definition, and the server
		// shows a default as it computes it.
		want.Columns[i].Default = got.Columns[i].Default
		w, g := &want.Columns[i].Type, got.Columns[i].Type
		if !strings.Contains(*w, "zerofill") && *w != "tinyint(1)" {
			*w = displayWidth.ReplaceAllString(*w, "$1")
		}
		for _, word := range []string{" COLLATE ", " CHARACTER SET "} {
			if !strings.Contains(g, word) {
				*w, _, _ = strings.Cut(*w, word)
			}
		}
	}
}

func TestTablesNames(t *testing.T) {
	all, err := Tables(
		"CREATE TABLE t (a INT); USE app; CREATE TABLE t (b INT); CREATE TABLE `Other`.t (c INT); \nDELIMITER $$\nCREATE TRIGGER x AFTER UPDATE ON app.t FOR EACH ROW BEGIN SET @a = 1; END $$\nDELIMITER ;\nDROP TABLE Other.t; CREATE VIEW v AS SELECT 1; SELECT nonsense from from",
	)
	if err != nil || len(all) != 3 || all[0].Schema != "" || all[1].Schema != "app" || all[0].Triggers.Update || !all[1].Triggers.Update ||
		!all[2].IsView {
		t.Errorf("%+v %v", all, err)
	}
	for sql, want := range map[string]string{
		"\nCREATE TABLE t (a INT,,)":                          "line 2: CREATE TABLE t (a INT,,): ",
		"CREATE TABLE t AS SELECT 1":                          "write them out",
		"ALTER TABLE t ADD c INT":                             `table "t" is not defined earlier in the schema file`,
		"CREATE TABLE t (a INT); ALTER TABLE t DROP COLUMN a": "write the table's final definition",
		"CREATE TABLE t (a INT, PRIMARY KEY (b))":             `"b", which does not exist in the table`,
		"CREATE TABLE t LIKE u":                               `table "u" is not`,
		"CREATE TABLE t (a INT, A INT)":                       "already exists",
	} {
		if _, err := Tables(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// open opens a session on a new database.
func open(t *testing.T) dialect.PlainSession {
	t.Helper()
	db, err := sql.Open("mysql", server.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dialect.PlainSession{Conn: conn}
}

// value returns the first value of the first row.
func value(t *testing.T, s dialect.Session, query string) string {
	t.Helper()
	rows, err := s.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return dialect.String(rows[0][0])
}
