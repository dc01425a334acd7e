// Command comments has clients comment on one post at once, each in a transaction. A trigger of the database counts the comments:
// first with an UPDATE of the post's row, and then with the function that slotsql ddl --functions prints.
//
//	go run ./examples/comments -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. There are no functions there: the trigger stays. A database
// that it is given must have no tables posts and comments; it drops them at the end.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/examples/internal/crowd"
)

const (
	comments = 20 // of each client
	work     = 2 * time.Millisecond
)

const config = `version: 1
auto_migrate: true
tables:
  posts: {counters: {comment_count: {}}}
`

const counting = "UPDATE posts SET comment_count = comment_count + 1 WHERE id = NEW.post_id"

var example = crowd.Example{
	Name:   "comments",
	Config: config,
	Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL, comment_count INT NOT NULL DEFAULT 0)",
		"CREATE TABLE comments (client INT, number INT, post_id INT NOT NULL, PRIMARY KEY (client, number))",
		"INSERT INTO posts (id, title) VALUES (1, 'A post')",
	},
	Inside: map[string][]string{
		"mysql":  {"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW " + counting},
		"sqlite": {"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW BEGIN " + counting + "; END"},
		"postgres": {
			"CREATE OR REPLACE FUNCTION commented() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + counting + "; RETURN NEW; END $$",
			"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION commented()",
		},
	},
	Migrate: migrate,
	Tables:  []string{"comments", "posts"},
	Right:   "Nothing is refused. The count is the number of comments. On SQLite the trigger\nstays as it is.",
	Take:    comment,
	Report:  report,
}

func main() { crowd.Main(example) }

// migrate does what slotsql migrate --functions does, and runs what slotsql ddl --triggers prints.
func migrate(ctx context.Context, engine string, c *slotsql.Connector, db *sql.DB) error {
	if engine == "sqlite" {
		return nil
	}
	if _, err := slotsql.MigrateStored(ctx, c, slotsql.Stored{Functions: true}); err != nil {
		return err
	}
	triggers, err := slotsql.TriggerDDL(ctx, c)
	if err != nil {
		return err
	}
	return crowd.Exec(ctx, db, triggers...)
}

// comment writes a comment, and goes on in the same transaction for as long as a real request might.
func comment(ctx context.Context, db *sql.DB, client, number int) (bool, error) {
	if number == comments {
		return false, nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left of it after the commit
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO comments VALUES (%d, %d, 1)", client, number)); err != nil {
		return false, err
	}
	time.Sleep(work)
	return true, tx.Commit()
}

// report compares the count with the comments.
func report(ctx context.Context, db *sql.DB, o crowd.Outcome) ([]crowd.Line, error) {
	var counted int64
	if err := db.QueryRowContext(ctx, "SELECT comment_count FROM posts WHERE id = 1").Scan(&counted); err != nil {
		return nil, err
	}
	if counted != o.Taken {
		return nil, fmt.Errorf("%d comments are counted, and %d written", counted, o.Taken)
	}
	return []crowd.Line{{What: "comments", Count: o.Taken}, {What: "comment_count", Count: counted}}, nil
}
