package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A statement that comes to a slot after another one that began later, because
// it has waited for it, does not make the slot's stamp older: values that
// other slots hold from before would come up again. Here the other one's stamp
// is put into the slot by hand.
func TestStampDoesNotGoBack(t *testing.T) {
	for dialect, later := range map[string]string{
		"mysql":    "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR",
		"postgres": "clock_timestamp() + INTERVAL '1 hour'",
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE notes (id INTEGER PRIMARY KEY, views BIGINT NOT NULL, seen BIGINT NOT NULL)",
					"INSERT INTO notes VALUES (1, 0, 0)",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {notes: {counters: {views: {}}, companions: {seen: latest}}}\n",
			})
			c, err := p.Wrapped.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			on := onConn{t, c}
			must := func(statements ...string) {
				t.Helper()
				for _, s := range statements {
					if _, err := on.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			must("UPDATE notes SET views = views + 1, seen = 1 WHERE id = 1")
			for _, statements := range [][]string{
				{"UPDATE notes SET views = views + 1, seen = 2 WHERE id = 1"},                    // by the row that is known
				{"BEGIN", "UPDATE notes SET views = views + 1, seen = 3 WHERE id = 1", "COMMIT"}, // by the upsert
			} {
				if _, err := p.Under.Exec("UPDATE notes_slots SET slotsql_at_seen = " + later); err != nil {
					t.Fatal(err)
				}
				must(statements...)
				var slots, back int
				if err := p.Under.QueryRow(
					"SELECT COUNT(*), COALESCE(SUM(CASE WHEN slotsql_at_seen < "+later+" - INTERVAL '5' MINUTE THEN 1 ELSE 0 END), 0) FROM notes_slots",
				).Scan(&slots, &back); err != nil {
					t.Fatal(err)
				}
				if slots != 1 || back != 0 {
					t.Errorf("%v: of %d slots %d have an older stamp", statements, slots, back)
				}
			}
			var seen int
			if err := p.Wrapped.QueryRow("SELECT seen FROM notes WHERE id = 1").Scan(&seen); err != nil || seen != 3 {
				t.Errorf("seen is %d, %v", seen, err)
			}
		})
	}
}
