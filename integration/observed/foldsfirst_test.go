package observed

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A query of many totals has the slots folded, and then runs as written. It does not wait for a transaction that counts.
func TestFoldsFirst(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE sheets (id INT PRIMARY KEY, author INT NOT NULL, views INT NOT NULL)", "INSERT INTO sheets VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\ntables: {sheets: {counters: {views: {}}}}\n",
		})
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		const sums = "SELECT author, SUM(views), MAX(views) FROM sheets GROUP BY author ORDER BY author"
		left := func() (n int) {
			t.Helper()
			if err := plain.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sheets_slots").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		twin.ExecAll(t, p.Plain, "UPDATE sheets SET views = views + 5 WHERE id = 2")
		twin.ExecAll(t, plain, "INSERT INTO sheets_slots (id, slot, views) VALUES (2, 0, 5)")
		before := sleepOf(t, dialect, "sheets")
		p.Same(t, twin.Statement{SQL: sums})
		if s := sleepOf(t, dialect, "sheets"); s.FoldedFirst != before.FoldedFirst+1 || s.Observed != before.Observed || s.Exact != before.Exact {
			t.Errorf("counted %+v, before %+v", s, before)
		}
		if n := left(); n > 0 {
			t.Fatalf("%d slot rows are left", n)
		}
		if dialect == "sqlite" {
			return // which has one writer
		}
		twin.ExecAll(t, plain, "INSERT INTO sheets_slots (id, slot, views) VALUES (3, 0, 7)")
		twin.ExecAll(t, p.Plain, "UPDATE sheets SET views = views + 7 WHERE id = 3")
		tx, err := plain.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback() //nolint:errcheck // it only holds a lock
		if _, err := tx.ExecContext(t.Context(), "UPDATE sheets_slots SET views = views + 1 WHERE id = 3"); err != nil {
			t.Fatal(err)
		}
		p.Same(t, twin.Statement{SQL: sums}) // beside slots
		if n := left(); n != 1 {
			t.Errorf("%d slot rows are left, and another session holds 1", n)
		}
	})
}

// So has one that slotsql cannot rewrite.
func TestFoldsFirstForOpaque(t *testing.T) {
	queries := map[string]string{
		"mysql":    "SELECT id FROM folios WHERE id IN (SELECT views - 9 FROM folios WHERE (id, views) IN (SELECT id, views FROM folios)) ORDER BY id",
		"postgres": "SELECT p.id, p.author, MAX(note) FROM folios p JOIN marks USING (views) GROUP BY p.id ORDER BY p.id",
		"sqlite":   "SELECT id FROM folios INDEXED BY by_author JOIN marks USING (views) WHERE author > 0 ORDER BY id",
	}
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema: []string{
				"CREATE TABLE folios (id INT PRIMARY KEY, author INT NOT NULL, views INT NOT NULL)", "INSERT INTO folios VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)",
				"CREATE INDEX by_author ON folios (author)", "CREATE TABLE marks (views INT PRIMARY KEY, note VARCHAR(20))", "INSERT INTO marks VALUES (11, 'a'), (30, 'b')",
			},
			Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 4, placement: adaptive}\ntables: {folios: {counters: {views: {}}}}\n",
		})
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		plain, err := twin.OpenPlain(twin.Plain[dialect], p.WrappedDSN, "")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		twin.ExecAll(t, p.Plain, "UPDATE folios SET views = views + 1 WHERE id = 1")
		twin.ExecAll(t, plain, "INSERT INTO folios_slots (id, slot, views) VALUES (1, 0, 1)")
		before := sleepOf(t, dialect, "folios")
		p.Same(t, twin.Statement{SQL: queries[dialect]})
		if s := sleepOf(t, dialect, "folios"); s.FoldedFirst != before.FoldedFirst+1 {
			t.Errorf("counted %+v, before %+v", s, before)
		}
	})
}
