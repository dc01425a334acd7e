package rollup

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

const companionConfig = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, companions: {seen: latest, top: max, low: min}, slots: 8, placement: connection}}\n"

func companions(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{Dialect: dialect, Config: companionConfig, Params: patience[dialect], Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, seen VARCHAR(20), top INT NOT NULL, low INT)",
		"INSERT INTO posts VALUES (1, 0, 'base', 5, 5), (2, 0, NULL, 5, NULL), (3, 0, 'x', 5, 5)",
	}})
}

func visit(dialect string, id int, seen string, n int) string {
	return fmt.Sprintf("UPDATE posts SET views = views + 1, seen = %s, top = %s(top, %d), low = %s(low, %d) WHERE id = %d", seen,
		pick(dialect, "sqlite: MAX", "GREATEST"), n, pick(dialect, "sqlite: MIN", "LEAST"), n, id)
}

// Companions arrive in the base row as the plain driver has them, also a latest
// one that is NULL.
func TestCompanions(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := companions(t, dialect)
		const q = "SELECT * FROM posts ORDER BY id"
		same := func(what string) {
			t.Helper()
			want := rows(t, p.Plain, q)
			if got := rows(t, p.Wrapped, q); got != want {
				t.Fatalf("%s: totals\n%s\nwant\n%s", what, got, want)
			}
			rollUp(t, p)
			if got := rows(t, p.Under, q); got != want {
				t.Fatalf("%s: base values\n%s\nwant\n%s", what, got, want)
			}
		}
		together(t, p, visit(dialect, 1, "'a'", 7), visit(dialect, 2, "'b'", 3))
		same("one slot")
		for i, seen := range []string{"'c'", "NULL", "'d'", "NULL"} {
			together(t, p, visit(dialect, 1, seen, 2*i), visit(dialect, 2, seen, 9-i))
			same(seen)
		}
		together(t, p, "UPDATE posts SET views = views + 2 WHERE id = 1") // sets no companion
		same("the counter alone")
	})
}

// A latest value stays in its slot while an older one is in a slot that another session
// has locked: in the base row it would count as older than that.
func TestLatestStaysBehind(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := companions(t, dialect)
		begin := func(q string) *sql.Tx {
			t.Helper()
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			return tx
		}
		// Two slots, the second with the later value.
		first, second := begin(visit(dialect, 1, "'old'", 6)), begin(visit(dialect, 1, "'new'", 7))
		for _, tx := range []*sql.Tx{first, second} {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		const q = "SELECT views, seen, top FROM posts WHERE id = 1"
		if got := rows(t, p.Wrapped, q); got != "2 new 7" {
			t.Fatal(got)
		}
		// Another session has the slot row of the older value locked.
		holder, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Rollback()
		rows(
			t,
			holder,
			"SELECT * FROM posts_slots WHERE id = 1 AND slot = "+
				rows(t, p.Under, "SELECT slot FROM posts_slots WHERE seen = 'old'")+" FOR UPDATE",
		)
		r := rollUp(t, p)
		if got := rows(t, p.Wrapped, q); got != "2 new 7" {
			t.Errorf("beside a locked slot: %s (%+v)", got, r.Tables)
		}
		if got := rows(t, p.Under, q); got != "1 base 7" {
			t.Errorf("base values beside a locked slot: %s", got)
		}
		if err := holder.Rollback(); err != nil {
			t.Fatal(err)
		}
		rollUp(t, p)
		if got := rows(t, p.Under, q); got != "2 new 7" {
			t.Errorf("base values: %s", got)
		}
		if r := rollUp(t, p); r.Tables[0].Deleted != idle(dialect, 2) {
			t.Errorf("%+v", r)
		}
	})
}

// Two workers share a database: one has the lease, and the other takes over when
// it has run out; a batch of the first is then refused.
func TestTakeOver(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := companions(t, dialect)
		execAll(t, p.Wrapped, visit(dialect, 1, "'a'", 1))
		const held = "SELECT holder FROM slotsql_leases WHERE name = 'roll-up'"
		// Another worker, which has gone away.
		now := pick(dialect, "mysql: UTC_TIMESTAMP(6)", "clock_timestamp()")
		execAll(t, p.Under, "INSERT INTO slotsql_leases VALUES ('roll-up', 'another', "+now+" + INTERVAL '1' HOUR)")
		r, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{})
		if err != nil || r.Held || r.Moved() > 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if got := rows(t, p.Under, held); got != "another" {
			t.Errorf("%q has the lease", got)
		}
		execAll(t, p.Under, "UPDATE slotsql_leases SET until = "+now+" + INTERVAL '1' SECOND WHERE name = 'roll-up'")
		if r := rollUp(t, p); r.Moved() != 1 { // waits for it
			t.Errorf("%+v", r)
		}
		if got := rows(t, p.Under, held); got != "" {
			t.Errorf("%q has the lease at the end", got)
		}
		// One that loses its lease in a pass stops there: the first batch of
		// three keeps it busy long enough to be robbed by the hook.
		execAll(t, p.Wrapped, visit(dialect, 1, "'a'", 1), visit(dialect, 3, "'b'", 1))
		robbed := false
		r, err = slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{Batch: 1, Progress: func(int) {
			if !robbed {
				robbed = true
				execAll(t, p.Under, "UPDATE slotsql_leases SET holder = 'robber' WHERE name = 'roll-up'")
			}
		}})
		if err != nil || r.Held || r.Moved() != 1 {
			t.Errorf("robbed: %+v, %v", r, err)
		}
	})
}

// A transaction whose snapshot is older than a roll-up sees one total, whatever it
// drains, locks or changes; and its own changes on top of the newest.
func TestOlderSnapshot(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, c := range []struct{ name, sql, after string }{
			{"nothing", "SELECT 1", "11"},
			{"locked", "SELECT views FROM posts WHERE id = 1 FOR UPDATE", "11"},
			{"title", "UPDATE posts SET title = 'x' WHERE id = 1", "11"},
			{"counted", "UPDATE posts SET views = views + 1 WHERE id = 1", "12"},
			{"zero", "UPDATE posts SET views = views * 1 WHERE id = 1", "11"},
		} {
			for _, layout := range []string{"1", "2", "journal"} { // the second roll-up deletes the slot row
				t.Run(c.name+"/"+layout, func(t *testing.T) {
					t.Parallel()
					config, sweeps := "dedicated", 1
					switch layout {
					case "2":
						sweeps = 2
					case "journal":
						config = layout
					}
					p := twin.New(t, twin.Options{Dialect: dialect, Params: patience[dialect], Schema: []string{
						"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, title VARCHAR(10))",
						"INSERT INTO posts VALUES (1, 10, 'a')",
					}, Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, layout: " + config + "}}\n"})
					execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1")
					tx, err := p.Wrapped.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Rollback()
					const q = "SELECT views FROM posts WHERE id = 1"
					if got := rows(t, tx, q); got != "11" {
						t.Fatal(got)
					}
					for range sweeps {
						rollUp(t, p)
					}
					if got := rows(t, tx, q); got != "11" {
						t.Errorf("%s after the roll-up", got)
					}
					if _, err := tx.ExecContext(t.Context(), c.sql); err != nil {
						if !newer(t, p, err) {
							t.Error(err)
						}
						return
					}
					if got := rows(t, tx, q); got != c.after {
						t.Errorf("%s, want %s", got, c.after)
					}
					if err := tx.Commit(); err != nil {
						t.Error(err)
					}
					if got := rows(t, p.Wrapped, q); got != c.after {
						t.Errorf("%s at the end, want %s", got, c.after)
					}
				})
			}
		}
	})
}
