package session

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// on_drain: warn names the reason why a statement has drained this time, and the
// statement, without a value of the application's.
func TestWarnings(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Open:    twin.OpenPlain,
			Schema: []string{
				"CREATE TABLE posts (id INTEGER PRIMARY KEY, title VARCHAR(20), views BIGINT)",
				"INSERT INTO posts VALUES (1, 'one', 10), (2, 'two', NULL), (3, 'three', 5), (4, 'four', 9223372036854775000)",
			},
		})
		c, err := slotsql.Parse(
			[]byte(golden.WithSlots("version: 1\nauto_migrate: true\ntables: {posts: {on_drain: warn, counters: {views: {}}}}")),
			"slotsql.yaml",
		)
		if err != nil {
			t.Fatal(err)
		}
		var log syncBuffer
		db, err := slotsql.Open(
			twin.Wrapped[dialect],
			p.WrappedDSN,
			slotsql.WithConfig(c),
			slotsql.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
				ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey && len(groups) == 0 {
						return slog.Attr{} // whose digits may be those of a value
					}
					return a
				},
			}))),
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		seen := 0
		logged := func() string {
			all := log.String()
			out := all[seen:]
			seen = len(all)
			return out
		}
		expect := func(what string, words ...string) {
			t.Helper()
			got := logged()
			for _, w := range words {
				if !strings.Contains(got, w) {
					t.Errorf("%s: no %q in %s", what, w, got)
				}
			}
			for _, secret := range []string{"secret", "4711", "99"} {
				if strings.Contains(got, secret) {
					t.Errorf("%s: a value is in %s", what, got)
				}
			}
		}
		mark := "?"
		if dialect == "postgres" {
			mark = "$1"
		}
		increment := "UPDATE posts SET views = views + 1 WHERE id = " + mark
		const shape = `statement="UPDATE posts SET views = views + ? WHERE id = ?"`
		exec := func(on twin.Execer, q string, args ...any) {
			t.Helper()
			if _, err := on.ExecContext(t.Context(), q, args...); err != nil {
				t.Fatal(q, err)
			}
		}

		exec(db, "UPDATE posts SET views = 4711, title = 'secret' WHERE id = 1")
		expect(
			"a statement that sets",
			`reason="the statement sets counter views"`,
			`statement="UPDATE posts SET views = ?, title = ? WHERE id = ?"`,
		)
		exec(db, increment, 99)
		if dialect == "sqlite" { // where a drain locks no rows, and does not learn whether there is one
			expect("a missing row", "fell back", "affected no row", shape)
		} else {
			expect("a missing row", "fell back: there is no such row", shape)
		}
		exec(db, increment, 2)
		expect("a NULL counter", "fell back", "NULL", shape)
		exec(db, "UPDATE posts SET views = views + "+mark+" WHERE id = 3", 0)
		expect("an argument that no slot takes", "fell back: an argument", `statement="UPDATE posts SET views = views + ? WHERE id = ?"`)

		// A transaction that reads what it has counted: the next one locks first, and where it has then met slots, the one
		// after that drains them first.
		for round := range 3 {
			exec(db, increment, 3)
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{})
			if err != nil {
				t.Fatal(err)
			}
			logged()
			exec(tx, increment, 3)
			if round == 2 && dialect == "postgres" { // elsewhere it runs on the base row, without a drain
				expect(
					"an increment that locks first",
					"locked first: transactions that run this statement read a counter of its row afterwards",
					shape,
				)
			}
			if got := twin.Rows(t, tx, "SELECT views FROM posts WHERE id = 3"); got == "" {
				t.Error("no row")
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
