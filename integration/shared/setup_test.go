package shared

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// Roll-up moves what shared slot tables hold, of each table its own.
func TestRollUp(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p := newPair(t, dialect)
		bump := []string{
			"UPDATE posts SET views = views + 1 WHERE id = 1",
			"UPDATE posts SET views = views + 2, likes = likes + 3 WHERE id = 2",
			"UPDATE posts SET likes = likes + 1 WHERE id = -1",
			"UPDATE comments SET likes = likes + 4 WHERE id = 9007199254740993",
			"UPDATE pages SET hits = hits + 1, bytes = bytes + 2 WHERE slug = 'b''s'",
			"UPDATE pages SET hits = hits + 1 WHERE slug = ''",
			"UPDATE pages SET hits = hits + 1 WHERE slug = 'Äpfel'",
			"UPDATE tags SET uses = uses + 1 WHERE name = 'go'",
		}
		for range 3 {
			execAll(t, p.Wrapped, bump...)
			execAll(t, p.Plain, bump...)
			r, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, tr := range r.Tables {
				if tr.Moved == 0 && tr.Table != "plain" || tr.Skipped+tr.Errors+tr.Orphans > 0 {
					t.Errorf("%+v", tr)
				}
			}
			for _, q := range reads {
				if got, want := text(t, p.Under, q), text(t, p.Plain, q); got != want {
					t.Errorf("%s: base values\n%s\nwant\n%s", q, got, want)
				}
			}
			same(t, p.Plain, p.Wrapped, reads...)
		}
		// Slots of a row that another program has deleted, and those of unknown record types.
		execAll(t, p.Wrapped, "UPDATE comments SET likes = likes + 4 WHERE id = 2")
		execAll(
			t,
			p.Under,
			"DELETE FROM comments WHERE id = 2",
			"INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (99, 2, 0, 5)",
		)
		v, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range v {
			if want := map[bool]int{true: 1}[tr.Table == "comments"]; len(tr.Findings) != want {
				t.Errorf("audit of %s: %v", tr.Table, tr.Findings)
			}
		}
		r, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{})
		orphans := 0
		for _, tr := range r.Tables {
			orphans += tr.Orphans
		}
		if err != nil || orphans != 1 {
			t.Errorf("%d orphans, %v", orphans, err)
		}
		if got := text(t, p.Under, "SELECT record_type FROM slotted_counters WHERE record_id = 2 AND count <> 0"); got != "99" {
			t.Errorf("left: %s", got)
		}
	})
}

// A shared table is made once, is dropped when it is empty, and check
// says which rows go without slotsql.
func TestSetup(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		ddl := append(
			schema(dialect),
			"CREATE TABLE answers (id INT PRIMARY KEY, post INT NOT NULL, n INT NOT NULL, FOREIGN KEY (post) REFERENCES posts (id) ON DELETE CASCADE)",
		)
		p := twin.New(t, twin.Options{
			Dialect: dialect,
			Schema:  ddl,
			Params:  params(dialect),
			Config: strings.Replace(config, "auto_migrate: true\n", "", 1) +
				"  answers: {slot_table: slotted_counters, counters: {n: {record_type: 4}}}\n",
		})
		if err := p.Wrapped.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "slotsql migrate") {
			t.Errorf("without slot tables: %v", err)
		}
		statements, err := slotsql.DDL(t.Context(), twin.Connector(t, p))
		if n := strings.Count(strings.Join(statements, ";"), "CREATE TABLE IF NOT EXISTS"); err != nil || n != 3 && n != 4 { // with the leases
			t.Errorf("%d tables, %v: %s", n, err, statements)
		}
		for range 2 {
			created, err := slotsql.Migrate(t.Context(), twin.Connector(t, p))
			if err != nil {
				t.Fatal(err)
			}
			t.Log(created)
		}
		tables, err := slotsql.Check(t.Context(), twin.Connector(t, p))
		if err != nil {
			t.Fatal(err)
		}
		for _, tb := range tables {
			if (tb.Table == "answers") != (len(tb.Risks) > 0) {
				t.Errorf("%s: risks %v", tb.Table, tb.Risks)
			}
		}
		execAll(t, p.Wrapped, "UPDATE posts SET views = views + 1 WHERE id = 1", "UPDATE answers SET n = n + 1 WHERE id = 1")
		if _, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p)); err == nil || !strings.Contains(err.Error(), "slotsql drain") {
			t.Errorf("dropped with counts in it: %v", err)
		}
		if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		dropped, err := slotsql.MigrateDown(t.Context(), twin.Connector(t, p))
		if err != nil || !strings.Contains(strings.Join(dropped, " "), "slotted_counters") ||
			strings.Count(strings.Join(dropped, " "), "slotted_counters") != 1 {
			t.Errorf("dropped %v, %v", dropped, err)
		}
		if got := text(t, p.Under, "SELECT views FROM posts WHERE id = 1"); got != "21" {
			t.Errorf("drained: %s", got)
		}
	})
}
