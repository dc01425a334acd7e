package main

import (
	"context"
	"database/sql"

	"github.com/slotsql/slotsql"
)

// explain says in a few lines what slotsql makes of a statement; the command
// `slotsql explain` says all of it.
func explain(ctx context.Context, db *sql.DB, query string) (string, error) {
	e, err := slotsql.Explain(ctx, db, query)
	if err != nil {
		return "", err
	}
	text := query + "\n  class " + e.Class
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	switch {
	case e.Increment != nil:
		text += "\n  > " + e.Increment.SQL
		if e.Again != nil {
			text += "\n  and once the connection has its slot row:\n  > " + e.Again.SQL
		}
	case e.Rewritten != nil:
		text += "\n  > " + e.Rewritten.SQL
	default:
		text += "\n  > as it is"
	}
	return text, nil
}
