package rewrite_test

import (
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/rewrite"
)

func TestLeavesRows(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"ALTER TABLE posts ADD note INT": true,
		"alter table if exists only blog.posts add column if not exists note INT DEFAULT 1;":                                                          true,
		"ALTER TABLE posts ADD COLUMN a INT DEFAULT (1), ADD INDEX a (a), ADD KEY b (a)":                                                              true,
		"ALTER TABLE `blog`.`posts` ADD (a INT, b DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6))":                                                          true,
		"ALTER TABLE posts ADD FULLTEXT INDEX t (title)":                                                                                              true,
		"CREATE INDEX posts_a ON posts (a)":                                                                                                           true,
		"CREATE INDEX CONCURRENTLY IF NOT EXISTS posts_a ON posts USING btree (lower(title))":                                                         true,
		"CREATE UNIQUE INDEX posts_a ON posts (a)":                                                                                                    false,
		"CREATE INDEX a ON posts (a); DROP TABLE posts":                                                                                               false,
		"CREATE TABLE IF NOT EXISTS posts (id INT PRIMARY KEY, n INT UNIQUE); CREATE INDEX a ON posts (n);\n-- more\nALTER TABLE posts ADD note INT;": true,
		"DROP INDEX IF EXISTS a; DROP INDEX b ON posts;":                                                                                              true,
		"ALTER TABLE posts ALTER COLUMN a SET DEFAULT 5, ALTER b DROP DEFAULT, ADD c INT, ALTER a DROP NOT NULL":                                      true,
		"ALTER TABLE posts ALTER a SET NOT NULL":                                                                                                      false,
		"ALTER TABLE posts ALTER a TYPE BIGINT":                                                                                                       false,
		"ALTER TABLE posts ALTER a SET DEFAULT 5, DROP views":                                                                                         false,
		"ALTER TABLE posts ALTER INDEX a INVISIBLE":                                                                                                   false,
		"DROP INDEX a CASCADE":                                   false,
		"CREATE TABLE more AS SELECT * FROM posts":               false,
		"CREATE TABLE more SELECT * FROM posts":                  false,
		"CREATE TABLE more TABLE posts":                          false,
		"CREATE TABLE more (n INT REFERENCES posts)":             false,
		"CREATE TABLE more () INHERITS (posts)":                  false,
		"CREATE TABLE more PARTITION OF posts FOR VALUES IN (1)": false,
		"CREATE OR REPLACE TABLE posts (id INT)":                 false,
		"BEGIN; ALTER TABLE posts ADD note INT; COMMIT":          false,
		";":                                   false,
		"CREATE TABLE `index` AS TABLE posts": false,
		"ALTER TABLE posts ADD note INT; DROP TABLE posts":                         false,
		"ALTER TABLE posts RENAME COLUMN note TO add":                              false,
		"ALTER TABLE add RENAME TO posts":                                          false,
		"ALTER TABLE posts DROP add":                                               false,
		"ALTER TABLE posts ADD a INT, DROP views":                                  false,
		"ALTER TABLE posts ADD a INT, ENGINE = MyISAM":                             false,
		"ALTER TABLE posts ADD a INT UNIQUE":                                       false,
		"ALTER TABLE posts ADD a INT KEY":                                          false,
		"ALTER TABLE posts ADD a SERIAL":                                           false,
		"ALTER TABLE posts ADD a INT AS (views + 1)":                               false,
		"ALTER TABLE posts ADD a INT DEFAULT (views + 1)":                          false,
		"ALTER TABLE posts ADD a INT DEFAULT concat(`views`)":                      false,
		"ALTER TABLE posts ADD a INT CHECK (a > 0)":                                false,
		"ALTER TABLE posts ADD a INT REFERENCES users":                             false,
		"ALTER TABLE posts ADD a DATETIME ON UPDATE CURRENT_TIMESTAMP":             false,
		"ALTER TABLE posts ADD a TIMESTAMP":                                        false,
		"ALTER TABLE posts ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES users (id)": false,
		"ALTER TABLE posts ADD PRIMARY KEY (id)":                                   false,
		"ALTER TABLE posts ADD PARTITION (PARTITION p VALUES LESS THAN (9))":       false,
		"ALTER TABLE posts ADD /*! DROP views, */ a INT":                           false,
		"ALTER TABLE posts":                                                        false,
		"UPDATE posts SET address = 1":                                             false,
		"":                                                                         false,
	} {
		if got := rewrite.LeavesRows(mysql.New(), query); got != want {
			t.Errorf("%q: %v", query, got)
		}
	}
}
