package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// Whatever slotsql has done on a session, the database keeps nothing of it for
// that session: settings, temporary tables, locks, prepared statements and the
// like are those that the plain driver leaves. So a transaction pooler, or a
// load balancer, may give each transaction another session.
func TestNothingBoundToTheSession(t *testing.T) {
	look := map[string][]string{
		"mysql": {
			// Without those of the statements that have run before, the time included, and those of the
			// server, which other tests set.
			"SELECT variable_name, session_value FROM information_schema.system_variables WHERE variable_scope <> 'GLOBAL' AND variable_name NOT IN ('TIMESTAMP', 'PSEUDO_THREAD_ID', 'RAND_SEED1', 'RAND_SEED2', 'LAST_GTID', 'GTID_CURRENT_POS', 'GTID_BINLOG_POS', 'GTID_BINLOG_STATE') ORDER BY 1",
			"SELECT variable_name FROM information_schema.user_variables ORDER BY 1",
			"SELECT @@in_transaction, @@autocommit",
		},
		"postgres": {
			"SELECT name, setting FROM pg_settings WHERE source = 'session' OR name LIKE 'transaction%' ORDER BY 1",
			"SELECT locktype FROM pg_locks WHERE pid = pg_backend_pid() AND locktype NOT IN ('virtualxid', 'relation')",
			"SELECT COUNT(*) FROM pg_class WHERE relpersistence = 't'",
			"SELECT * FROM pg_listening_channels()",
			"SELECT COUNT(*) FROM pg_cursors WHERE is_holdable",
			"SELECT name FROM pg_prepared_statements WHERE from_sql OR name NOT LIKE 'stmtcache%'", // those are pgx's own
		},
		"sqlite": {
			"SELECT name FROM sqlite_temp_master",
			"SELECT seq, name FROM pragma_database_list",
			"PRAGMA foreign_keys",
			"PRAGMA defer_foreign_keys",
			"PRAGMA busy_timeout",
			"PRAGMA recursive_triggers",
			"PRAGMA read_uncommitted",
		},
	}
	each(t, func(t *testing.T, dialect string) {
		if dialect == "mysql" && server.MySQLVersion(t).MySQL {
			look[dialect] = []string{
				"SELECT variable_name, variable_value FROM performance_schema.session_variables WHERE variable_name NOT IN ('timestamp', 'pseudo_thread_id', 'rand_seed1', 'rand_seed2', 'statement_id') AND variable_name NOT LIKE 'gtid%' ORDER BY 1",
				"SELECT variable_name FROM performance_schema.user_variables_by_thread WHERE thread_id = PS_CURRENT_THREAD_ID() ORDER BY 1",
				"SELECT COUNT(*) FROM performance_schema.events_transactions_current WHERE thread_id = PS_CURRENT_THREAD_ID() AND state = 'ACTIVE' AND autocommit = 'NO'",
				"SELECT @@autocommit",
			}
		}
		p := newPair(t, dialect, "")
		s := pinned(t, p)
		statements := slices.Concat(
			work,
			[]string{
				"SELECT id, views FROM posts ORDER BY views DESC LIMIT 2",
				"SELECT SUM(views) FROM posts",
				"SELECT views FROM posts WHERE id = 1",
			},
		)
		for _, around := range [][2]string{{"", ""}, {"BEGIN", "COMMIT"}, {"BEGIN", "ROLLBACK"}} {
			for i, query := range slices.Concat([]string{around[0]}, statements, []string{around[1]}) {
				if query == "" || around[1] == "COMMIT" && strings.HasPrefix(query, "INSERT") {
					continue // the row is there already
				}
				if i > 0 && around[1] == "COMMIT" && strings.Contains(query, "SET id = 5") {
					continue
				}
				s.same(t, twin.Statement{SQL: query})
			}
			for _, q := range look[dialect] {
				a := twin.Run(t.Context(), s.plain, twin.Statement{SQL: q})
				b := twin.Run(t.Context(), s.wrapped, twin.Statement{SQL: q})
				if a.Err != nil {
					t.Fatalf("%s: %v", q, a.Err)
				}
				for _, d := range twin.Compare(a, b) {
					t.Errorf("after %v: %s\n%s", around, d, q)
				}
			}
		}
	})
}
