package upkeep

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A server that writes statements to its binary log takes no change at READ
// COMMITTED (1665). Roll-up and drain work there, too.
func TestStatementLog(t *testing.T) {
	t.Parallel()
	for _, table := range []string{
		"counters: {views: {}}, placement: random",
		"counters: {views: {}}, companions: {seen: latest}",
		"counters: {views: {}}, layout: journal",
		"counters: {views: {record_type: 1}}, layout: shared",
	} {
		t.Run(table, func(t *testing.T) {
			p := &twin.Pair{
				Dialect:    "mysql",
				WrappedDSN: server.MariaDBStatementLog(t),
				ConfigPath: filepath.Join(t.TempDir(), "slotsql.yaml"),
			}
			config := "version: 1\nauto_migrate: true\ntables: {posts: {" + table + "}}\n"
			if err := os.WriteFile(p.ConfigPath, []byte(golden.WithSlots(config)), 0o600); err != nil {
				t.Fatal(err)
			}
			connector := twin.Connector(t, p)
			under, err := twin.OpenPlain("mysql", p.WrappedDSN, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = under.Close() })
			twin.ExecAll(
				t,
				under,
				"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, seen VARCHAR(20))",
				"INSERT INTO posts VALUES (1, 0, NULL), (2, 0, NULL)",
			)
			db, err := twin.OpenWrapped("mysql", p.WrappedDSN, p.ConfigPath)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			count := func() {
				for i := range 6 {
					twin.ExecAll(
						t,
						db,
						fmt.Sprintf("UPDATE posts SET views = views + 1, seen = 'x' WHERE id = %d", i%2+1),
						fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", i%2+1),
					)
				}
			}
			base := func(want string) {
				t.Helper()
				if got := twin.Rows(t, under, "SELECT views FROM posts ORDER BY id"); got != want {
					t.Errorf("base values %s, want %s", got, want)
				}
			}
			count()
			if _, err := slotsql.RollUp(t.Context(), connector, slotsql.RollUpOptions{}); err != nil {
				t.Fatal(err)
			}
			base("6\n6")
			count()
			if _, err := slotsql.Drain(t.Context(), connector, slotsql.DrainOptions{}); err != nil {
				t.Fatal(err)
			}
			base("12\n12")
			count()
			twin.ExecAll(t, db, "UPDATE posts SET views = views * 2")
			base("36\n36")
			if _, err := slotsql.Verify(t.Context(), connector, slotsql.VerifyOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
