// Command editor has clients edit one document at once. Each reads the document and its version, and writes it back with another word if
// nobody else has meanwhile (compare and set); otherwise it reads again.
//
//	go run ./examples/editor
//	go run ./examples/editor -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no table documents; it drops it at the end.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/slotsql/slotsql/examples/internal/crowd"
)

const words = 200

// config names the version that an edit expects.
const config = `version: 1
tables:
  documents: {versions: [lock_version]}
`

var example = crowd.Example{
	Name:   "editor",
	Config: config,
	Schema: []string{
		"CREATE TABLE documents (id INT PRIMARY KEY, words INT NOT NULL, lock_version INT NOT NULL)",
		"INSERT INTO documents VALUES (1, 0, 0)",
	},
	Tables: []string{"documents"},
	Right:  "A client stops when the document has all its words. An edit that loses is tried\nagain with the next version.",
	Take:   edit,
	Report: report,
}

func main() { crowd.Main(example) }

var tries atomic.Int64 // since the last report

// edit adds a word; it reports false if the document has all of them.
func edit(ctx context.Context, db *sql.DB, _, _ int) (bool, error) {
	for {
		read, version, err := document(ctx, db)
		if err != nil || read == words {
			return false, err
		}
		tries.Add(1)
		save := "UPDATE documents SET words = %d, lock_version = lock_version + 1 WHERE id = 1 AND lock_version = %d"
		res, err := db.ExecContext(ctx, fmt.Sprintf(save, read+1, version))
		if err != nil {
			return false, err
		}
		if n, err := res.RowsAffected(); n == 1 || err != nil {
			return true, err
		}
	}
}

func document(ctx context.Context, db *sql.DB) (words, version int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT words, lock_version FROM documents WHERE id = 1").Scan(&words, &version)
	return words, version, err
}

// report compares the document with the edits, and prints how many statements they took.
func report(ctx context.Context, db *sql.DB, o crowd.Outcome) ([]crowd.Line, error) {
	written, version, err := document(ctx, db)
	if err != nil {
		return nil, err
	}
	n := tries.Swap(0)
	if written != o.Taken || version != o.Taken {
		return nil, fmt.Errorf("%d words and version %d after %d edits", written, version, o.Taken)
	}
	return []crowd.Line{
		{What: "tries to save", Count: n},
		{What: "- told that another edit came first", Count: n - o.Taken},
		{What: "= edits, and words", Count: written},
		{What: "statements sent for the tries", Count: n - o.Shared},
	}, nil
}
