package postgres

import (
	"encoding/json"

	"github.com/slotsql/slotsql/dialect"
)

// familyQuery reads the triggers of a table, those of its partitions, which fire for a
// change of the table, the names of the partitions, and those of the tables above it, by
// which statements reach its rows as well.
const familyQuery = `
WITH RECURSIVE tree(root, oid) AS (
  SELECT c.oid, c.oid FROM pg_catalog.pg_class c WHERE c.oid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[])))
  UNION
  SELECT t.root, h.inhrelid FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid AND c.relkind = 'p' JOIN pg_catalog.pg_inherits h ON h.inhparent = c.oid),
above(root, oid) AS (
  SELECT h.inhrelid, h.inhparent FROM pg_catalog.pg_inherits h
  WHERE h.inhrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::text::pg_catalog.oid[])))
  UNION
  SELECT a.root, h.inhparent FROM above a JOIN pg_catalog.pg_inherits h ON h.inhrelid = a.oid),
ancestors(root, names) AS (
  SELECT a.root, pg_catalog.json_agg(pg_catalog.json_build_object('Schema', n.nspname::text, 'Name', c.relname::text) ORDER BY n.nspname, c.relname)
  FROM above a JOIN pg_catalog.pg_class c ON c.oid = a.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace GROUP BY a.root)
SELECT t.root::text, COALESCE(pg_catalog.bool_or(g.tgtype & 16 <> 0), false)::text, COALESCE(pg_catalog.bool_or(g.tgtype & 8 <> 0), false)::text,
  COALESCE(pg_catalog.bool_or(g.tgtype & 4 <> 0), false)::text, (pg_catalog.json_agg(DISTINCT c.relname::text) FILTER (WHERE t.oid <> t.root))::text,
  (SELECT a.names FROM ancestors a WHERE a.root = t.root)::text
FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid LEFT JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid
  AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgname NOT LIKE 'slotsql\_%' GROUP BY t.root`

// family reads what familyQuery returns of a table.
func (t *described) family(r []any) error {
	fires := &t.Triggers
	fires.Update, fires.Delete, fires.Insert = fires.Update || yes(r[0]), fires.Delete || yes(r[1]), fires.Insert || yes(r[2])
	for i, into := range []any{&t.Storage.Parts, &t.Storage.Ancestors} {
		if r[3+i] == nil {
			continue
		}
		if err := json.Unmarshal([]byte(dialect.String(r[3+i])), into); err != nil {
			return err
		}
	}
	return nil
}
