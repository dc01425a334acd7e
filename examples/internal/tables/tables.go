// Package tables looks at a database before an example makes its tables, because it drops them at the end.
package tables

import (
	"context"
	"database/sql"
	"fmt"
)

// Absent returns an error if the database has one of the tables, or cannot be reached.
func Absent(ctx context.Context, db *sql.DB, names ...string) error {
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := db.ExecContext(ctx, "SELECT 1 FROM "+name+" WHERE 1 = 0"); err == nil {
			return fmt.Errorf("table %s exists already: drop it, or choose another database", name)
		}
	}
	return nil
}
