package shoptest

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/slotsql/slotsql/examples/internal/shop"
	"github.com/slotsql/slotsql/integration/server"
)

// OneColumn tests that who saves the title alone of a page keeps what others count meanwhile: save
// loads page 1, calls between, and saves it with the title "new".
func OneColumn(t *testing.T, save func(db *sql.DB, dsn string, between func()) error) {
	dsn := server.SQLite(t)
	db, err := sql.Open("sqlite3-slotsql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	if err := shop.Exec(t.Context(), db, slices.Concat(shop.Tables("sqlite"), shop.Rows)); err != nil {
		t.Fatal(err)
	}
	between := func() {
		if _, err := db.ExecContext(t.Context(), "UPDATE pages SET views = views + 1 WHERE id = 1"); err != nil {
			t.Error(err)
		}
	}
	if err := save(db, dsn, between); err != nil {
		t.Fatal(err)
	}
	var title string
	var views int64
	if err := db.QueryRowContext(t.Context(), "SELECT title, views FROM pages WHERE id = 1").Scan(
		&title, &views); err != nil || title != "new" || views != 1 {
		t.Errorf("%q, %d views, %v", title, views, err)
	}
}
