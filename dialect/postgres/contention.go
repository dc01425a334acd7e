package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ dialect.Observer = (*Dialect)(nil)

// waitsQuery finds the sessions that wait. One that waits for a row waits for the ID of the transaction that has
// locked it, and holds the row's tuple lock meanwhile, or queues for that: so a lock of kind tuple names the row
// either way. A wait for a table's lock names the table.
const waitsQuery = `
SELECT a.pid::text, COALESCE(b.pid::text, ''), COALESCE(a.query, ''), COALESCE(b.query, ''), COALESCE(b.state, ''), COALESCE(l.locktype, w.locktype),
  COALESCE(n.nspname::text, ''), COALESCE(c.relname::text, ''), COALESCE('(' || l.page || ',' || l.tuple || ')', ''),
  (EXTRACT(EPOCH FROM pg_catalog.clock_timestamp() - a.query_start) * 1000000)::bigint::text,
  (SELECT s.setting FROM pg_catalog.pg_settings s WHERE s.name = 'track_activity_query_size'), w.mode, a.pid || ' ' || a.query_start
FROM pg_catalog.pg_stat_activity a
JOIN pg_catalog.pg_locks w ON w.pid = a.pid AND NOT w.granted
LEFT JOIN pg_catalog.pg_locks l ON l.pid = a.pid AND l.locktype = 'tuple' AND l.database = a.datid
LEFT JOIN LATERAL (SELECT pg_catalog.unnest(pg_catalog.pg_blocking_pids(a.pid)) AS pid LIMIT 1) p ON true
LEFT JOIN pg_catalog.pg_stat_activity b ON b.pid = p.pid
LEFT JOIN pg_catalog.pg_class c ON c.oid = COALESCE(l.relation, w.relation)
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.datname = pg_catalog.current_database() AND a.wait_event_type = 'Lock' AND a.pid <> pg_catalog.pg_backend_pid()`

// Waits implements dialect.Observer.
func (d *Dialect) Waits(ctx context.Context, s dialect.Session) ([]dialect.Wait, error) {
	rows, err := s.Query(ctx, waitsQuery)
	if err != nil {
		return nil, fmt.Errorf("reading lock waits: %w", err)
	}
	var out []dialect.Wait
	for _, r := range rows {
		w := dialect.Wait{
			Waiter: dialect.String(r[0]), Holder: dialect.String(r[1]), Kind: dialect.String(r[11]), Execution: dialect.String(r[12]),
			Statement: shown(dialect.String(r[2])), Holding: shown(dialect.String(r[3])),
			Schema: dialect.String(r[6]), Table: dialect.String(r[7]), Row: dialect.String(r[8])}
		w.Idle = strings.HasPrefix(dialect.String(r[4]), "idle")
		us, _ := strconv.ParseInt(dialect.String(r[9]), 10, 64)
		w.For = max(0, time.Duration(us)*time.Microsecond)
		if size, err := strconv.Atoi(dialect.String(r[10])); err == nil {
			w.Cut = len(w.Statement) >= size-4
		}
		out = append(out, w)
	}
	return out, nil
}

// shown is a statement, "" when the server does not show it.
func shown(query string) string {
	if query == hiddenQuery {
		return ""
	}
	return query
}

const hiddenQuery = "<insufficient privilege>"

// Statements implements dialect.Observer.
func (d *Dialect) Statements(ctx context.Context, s dialect.Session) ([]string, error) {
	rows, err := s.Query(ctx, "SELECT DISTINCT query FROM pg_catalog.pg_stat_activity WHERE datname = pg_catalog.current_database()"+
		" AND pid <> pg_catalog.pg_backend_pid() AND backend_type = 'client backend' AND query <> '' AND query <> '"+hiddenQuery+"'")
	if err != nil {
		return nil, fmt.Errorf("reading the list of sessions: %w", err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, dialect.String(r[0]))
	}
	return out, nil
}

// Totals implements dialect.Observer.
func (d *Dialect) Totals(ctx context.Context, s dialect.Session) ([]dialect.Total, error) {
	rows, err := s.Query(ctx, "SELECT deadlocks::text FROM pg_catalog.pg_stat_database WHERE datname = pg_catalog.current_database()")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	n, err := strconv.ParseInt(dialect.String(rows[0][0]), 10, 64)
	return []dialect.Total{{What: "deadlocks", Value: n}}, err
}

// Rights implements dialect.Observer.
func (d *Dialect) Rights(ctx context.Context, s dialect.Session) ([]dialect.Lack, error) {
	rows, err := s.Query(
		ctx,
		"SELECT (pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'))::text, pg_catalog.quote_ident(current_user)",
	)
	if err != nil || len(rows) == 0 || yes(rows[0][0]) {
		return nil, err
	}
	grant := "GRANT pg_read_all_stats TO " + dialect.String(rows[0][1])
	return []dialect.Lack{{What: "the statements and waits of other roles", Grant: grant}}, nil
}

// Locked implements dialect.Observer: the row is looked up by its place. There
// it is, for all others, until the session that has it locked commits.
func (d *Dialect) Locked(ctx context.Context, s dialect.Session, t *schema.Table, key []string, w *dialect.Wait) ([]string, error) {
	if w.Row == "" || len(key) == 0 {
		return nil, nil
	}
	var read []string
	for _, k := range key {
		read = append(read, "CAST("+quote(k)+" AS text)")
	}
	rows, err := s.Query(ctx, "SELECT "+strings.Join(read, ", ")+" FROM "+qualified(t.Schema, t.Name)+" WHERE ctid = '"+w.Row+"'::tid")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var out []string
	for _, v := range rows[0] {
		out = append(out, dialect.String(v))
	}
	return out, nil
}
