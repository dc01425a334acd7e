package session

import (
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A drain at REPEATABLE READ meets what others have counted since the snapshot however
// the session writes the values of keys, and so do the roll-up and the audit.
func TestKeysUnderSessionSettings(t *testing.T) {
	const settings = "SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard'; SET extra_float_digits = -15; SET bytea_output = 'escape'; SET timezone = 'Asia/Kolkata'; SET lc_monetary = 'C'"
	for kind, value := range map[string]string{
		"date":           "2024-02-03",
		"timestamp":      "2024-02-03 04:05:06.789",
		"timestamptz":    "2024-02-03 04:05:06.789+11",
		"timestamptz(3)": "0044-03-15 04:05:06.789+11 BC",
		"interval":       "-1 year 2 mons -3 days 04:05:06.7",
		"float8":         "0.1234567890123456789",
		"real":           "1.2345678e-20",
		"bytea":          `\x00ff5c`,
		"daterange":      "[2024-02-03,2024-12-05)",
		"tsrange":        "(,2024-12-05 04:05:06]",
		"money":          "12.34",
		"numeric":        "12.340",
		"uuid":           "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
		"text":           "it's",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{Dialect: "postgres",
				Schema: []string{"CREATE TABLE posts (k " + kind + " PRIMARY KEY, views BIGINT NOT NULL)"},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, placement: random}}\n"})
			execAll(t, p.Under, "INSERT INTO posts SELECT CAST('"+quoted(value)+"' AS "+kind+"), 0")
			const count, drain = "UPDATE posts SET views = views + 1 WHERE k = $1::text::", "UPDATE posts SET views = 5 WHERE k = $1::text::"
			if err := p.Wrapped.Ping(); err != nil {
				t.Fatal(err)
			}
			c, err := p.Wrapped.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			twin.ExecAll(t, c, settings)
			tx, err := c.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			twin.ExecAll(t, tx, "SELECT COUNT(*) FROM posts")
			for range 20 { // in slot rows that are newer than the snapshot
				if _, err := p.Wrapped.Exec(count+kind, value); err != nil {
					t.Fatal(err)
				}
			}
			_, err = tx.Exec(drain+kind, value)
			if twin.Class(err) != "PostgreSQL 40001" {
				t.Errorf("the drain: %v", err)
			}
			_ = tx.Rollback()
			if r, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{}); err != nil || r.Moved() == 0 {
				t.Errorf("roll-up: %+v, %v", r, err)
			}
			if got := twin.Rows(t, p.Under, "SELECT views FROM posts"); got != "20" {
				t.Errorf("after the roll-up: %s", got)
			}
		})
	}
}

func quoted(s string) string {
	out := ""
	for _, r := range s {
		if r == '\'' {
			out += "'"
		}
		out += string(r)
	}
	return out
}
