package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.Watcher = (*Dialect)(nil)

// Every change of a definition writes a new version of a catalog row, with the
// number of its transaction in xmin, or adds or deletes one. VACUUM and ANALYZE
// write theirs in place, and freezing leaves xmin readable. So a table's mark is
// the numbers and versions of all rows that describe it: its own, and those of
// the tables that inherit from it, of the views over it, and of its columns'
// domains. Of the tables above it those rows belong to them that say which ones they are (what they are partitioned by
// decides where its rows are), and which views read them. They are read by one query, hence of one state.
const markQuery = `
WITH RECURSIVE asked(ord, oid) AS (
  SELECT a.ord, pg_catalog.to_regclass(a.name)::pg_catalog.oid
  FROM pg_catalog.json_array_elements_text($1::text::json) WITH ORDINALITY AS a(name, ord)),
rel(ord, oid) AS (
  SELECT a.ord, a.oid FROM asked a WHERE a.oid IS NOT NULL
  UNION
  SELECT r.ord, x.oid FROM rel r CROSS JOIN LATERAL (
    SELECT h.inhrelid AS oid FROM pg_catalog.pg_inherits h WHERE h.inhparent = r.oid
    UNION ALL
    SELECT w.ev_class FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite w ON w.oid = d.objid
    WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = r.oid AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass) x),
up(ord, oid) AS (
  SELECT a.ord, h.inhparent FROM asked a JOIN pg_catalog.pg_inherits h ON h.inhrelid = a.oid
  UNION
  SELECT u.ord, h.inhparent FROM up u JOIN pg_catalog.pg_inherits h ON h.inhrelid = u.oid),
reading(ord, oid) AS (
  SELECT u.ord, u.oid FROM up u
  UNION
  SELECT o.ord, w.ev_class FROM reading o
  JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = o.oid AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
  JOIN pg_catalog.pg_rewrite w ON w.oid = d.objid),
domain(ord, oid) AS (
  SELECT r.ord, t.oid FROM rel r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND t.typtype = 'd'
  UNION
  SELECT d.ord, b.oid FROM domain d JOIN pg_catalog.pg_type t ON t.oid = d.oid JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype AND b.typtype = 'd'),
part(ord, kind, oid, sub, version) AS (
  SELECT r.ord, 'c', c.oid, 0, c.xmin FROM rel r JOIN pg_catalog.pg_class c ON c.oid = r.oid
  UNION ALL SELECT r.ord, 'a', a.attrelid, a.attnum, a.xmin FROM rel r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0
  UNION ALL SELECT r.ord, 'f', f.oid, 0, f.xmin FROM rel r JOIN pg_catalog.pg_attrdef f ON f.adrelid = r.oid
  UNION ALL SELECT r.ord, 'k', k.oid, 0, k.xmin FROM rel r JOIN pg_catalog.pg_constraint k ON k.conrelid = r.oid
  UNION ALL SELECT r.ord, 'i', i.indexrelid, 0, i.xmin FROM rel r JOIN pg_catalog.pg_index i ON i.indrelid = r.oid
  UNION ALL SELECT r.ord, 'x', x.oid, 0, x.xmin FROM rel r JOIN pg_catalog.pg_index i ON i.indrelid = r.oid JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  UNION ALL SELECT r.ord, 'g', g.oid, 0, g.xmin FROM rel r JOIN pg_catalog.pg_trigger g ON g.tgrelid = r.oid
  UNION ALL SELECT r.ord, 'p', p.oid, 0, p.xmin FROM rel r JOIN pg_catalog.pg_policy p ON p.polrelid = r.oid
  UNION ALL SELECT r.ord, 'w', w.oid, 0, w.xmin FROM rel r JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.oid
  UNION ALL SELECT r.ord, 'h', h.inhparent, h.inhseqno, h.xmin FROM rel r JOIN pg_catalog.pg_inherits h ON h.inhrelid = r.oid
  UNION ALL SELECT u.ord, 'u', h.inhparent, h.inhseqno, h.xmin FROM up u JOIN pg_catalog.pg_inherits h ON h.inhrelid = u.oid
  UNION ALL SELECT o.ord, 'o', c.oid, 0, c.xmin FROM reading o JOIN pg_catalog.pg_class c ON c.oid = o.oid
  UNION ALL SELECT o.ord, 'v', w.oid, 0, w.xmin FROM reading o JOIN pg_catalog.pg_rewrite w ON w.ev_class = o.oid
  UNION ALL SELECT d.ord, 't', t.oid, 0, t.xmin FROM domain d JOIN pg_catalog.pg_type t ON t.oid = d.oid
  UNION ALL SELECT d.ord, 'd', k.oid, 0, k.xmin FROM domain d JOIN pg_catalog.pg_constraint k ON k.contypid = d.oid)
SELECT a.ord::text, n.nspname::text, c.relname::text,
  pg_catalog.md5(pg_catalog.string_agg(p.kind || p.oid || '.' || p.sub || '.' || p.version, ' ' ORDER BY p.kind, p.oid, p.sub))
FROM asked a JOIN pg_catalog.pg_class c ON c.oid = a.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN part p ON p.ord = a.ord
GROUP BY a.ord, n.nspname, c.relname`

// Marks implements dialect.Watcher.
func (d *Dialect) Marks(ctx context.Context, s dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks := make([]dialect.Mark, len(names))
	rows, err := s.Query(ctx, markQuery, namesJSON(names))
	if err != nil {
		return nil, fmt.Errorf("postgres: looking at the tables' definitions: %w", err)
	}
	for _, r := range rows {
		i, err := strconv.Atoi(dialect.String(r[0]))
		if err != nil || i < 1 || i > len(names) {
			return nil, fmt.Errorf("postgres: looking at the tables' definitions: there is no table %v", r[0])
		}
		marks[i-1] = dialect.Mark{Schema: dialect.String(r[1]), Name: dialect.String(r[2]), Version: dialect.String(r[3])}
	}
	return marks, nil
}

// namesJSON writes names as a list for json_array_elements_text, quoted as
// to_regclass reads them.
func namesJSON(names []dialect.WrittenName) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = qualified(n.Schema, n.Name)
	}
	b, _ := json.Marshal(list) // strings always can be written
	return string(b)
}
