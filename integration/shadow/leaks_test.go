package shadow

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// Nothing of the shadow can be seen in the application's session.
func TestNothingLeaks(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "leaking")
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		serial := map[string]string{"mysql": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "SERIAL PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}[dialect]
		for _, db := range []*sql.DB{p.Plain, p.Under} {
			exec(t, db, "CREATE TABLE things (id "+serial+", note VARCHAR(3))")
		}
		db, log := inShadow(t, p, table)
		db.SetMaxOpenConns(1)
		p.Plain.SetMaxOpenConns(1)
		state := map[string][]string{
			"mysql":    {"SELECT LAST_INSERT_ID()", "SELECT FOUND_ROWS()", "SHOW WARNINGS", "SELECT ROW_COUNT()", "SELECT @@warning_count", "SELECT @seen", "SELECT @@session.lock_wait_timeout, @@session." + server.MySQLVersion(t).Isolation()},
			"postgres": {"SELECT lastval()", "SHOW lock_timeout", "SHOW transaction_isolation", "SHOW transaction_read_only"},
			"sqlite":   {"SELECT last_insert_rowid()", "SELECT changes()", "SELECT total_changes()", "PRAGMA data_version"},
		}[dialect]
		statements := []string{
			"INSERT INTO things (note) VALUES ('a')",
			"UPDATE " + table + " SET views = views + 1 WHERE id > 1",
			"SELECT views FROM " + table + " ORDER BY id LIMIT 1",
			"SELECT COUNT(*) FROM " + table + " WHERE views > 3",
			"DELETE FROM " + table + " WHERE id = 99",
			"SELECT * FROM " + table + " ORDER BY id",
			"SELEC views FROM " + table,
		}
		if dialect == "mysql" {
			statements = append(
				statements,
				"SELECT SQL_CALC_FOUND_ROWS views FROM "+table+" ORDER BY id LIMIT 1",
				"SELECT 1 / 0, views FROM "+table,
				"SET @seen = (SELECT MAX(views) FROM "+table+")",
				"INSERT IGNORE INTO "+table+" (id, views, title) VALUES (7, 1, 'a title that is much too long for it')",
				"CREATE TEMPORARY TABLE own AS SELECT views FROM "+table,
				"DROP TEMPORARY TABLE own",
			)
		} else {
			statements = append(statements, "CREATE TEMP TABLE own AS SELECT views FROM "+table, "DROP TABLE own")
		}
		for round := range 4 {
			for i, query := range statements {
				for _, look := range state {
					one := func(db *sql.DB) (out []string) {
						c, err := db.Conn(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						defer c.Close()
						for _, q := range []string{query, look} {
							if o := twin.Run(t.Context(), c, twin.Statement{SQL: q}); strings.HasPrefix(q, "PRAGMA") {
								out = append(out, q) // the number is the database's own
							} else {
								out = append(out, show(o))
							}
						}
						return out
					}
					plain, wrapped := one(p.Plain), one(db)
					if !slices.Equal(plain, wrapped) {
						t.Fatalf("round %d, text %d: %s; %s\nplain   %q\nwrapped %q", round, i, query, look, plain, wrapped)
					}
				}
			}
		}
		until(t, db, "a comparison", func() bool {
			rows(t, db, "SELECT views FROM "+table+" WHERE id = 2")
			return counts(dialect, table, "read").Compared > 0
		})
		if c := counts(dialect, table, ".*"); c.Differences > 0 || failed(c) || log.String() != "" {
			t.Errorf("%+v\n%s", c, log)
		}
	})
}

// database is the name of a test's database, which messages quote.
var database = regexp.MustCompile("slotsql_[0-9a-f]+")

func show(o twin.Outcome) string {
	out := fmt.Sprint(twin.Class(o.Err), o.RowsAffected, o.LastInsertID)
	for _, set := range o.Sets {
		for _, row := range set.Rows {
			for _, v := range row {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				out += fmt.Sprint(" ", v)
			}
		}
	}
	return database.ReplaceAllString(out, "db")
}

// A transaction of the application's is its own: a read in it is compared
// beside it, whatever it has changed and locked.
func TestInTransaction(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "within")
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		db, log := inShadow(t, p, table)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 5 {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, tx, "UPDATE "+table+" SET views = views + 1 WHERE id = 1")
			got := rows(t, tx, "SELECT views FROM "+table+" WHERE id = 1")
			is(t, "own change", got, "11")
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		until(t, db, "a comparison", func() bool {
			rows(t, db, "SELECT views FROM "+table+" WHERE id = 1")
			return counts(dialect, table, "read").Compared > 0
		})
		is(t, "additive", fmt.Sprint(counts(dialect, table, "additive").Statements), "5")
		if c := counts(dialect, table, ".*"); c.Differences > 0 || failed(c) || log.String() != "" {
			t.Errorf("%+v\n%s", c, log)
		}
	})
}
