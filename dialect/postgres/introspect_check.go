package postgres

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file reads what else can refuse a row for a column's value.

const (
	// Whether an index looks at the row as a whole. pg_depend has the columns that an
	// expression or a predicate names, and nothing of such a reference; in the expression's
	// tree it is a variable without a column.
	wholeRow = `pg_catalog.concat(i.indexprs::pg_catalog.text, i.indpred::pg_catalog.text) LIKE '%:varattno 0 %'`

	// CHECK and exclusion constraints, those of partitions and of tables that inherit among
	// them, the predicates of exclusion constraints, and the unique indexes that uniqueQuery
	// leaves out. An empty name stands for every column.
	checkQuery = `
WITH looking (root, rel, oid, whole) AS (
  SELECT b.root, i.indrelid, i.indexrelid, ` + wholeRow + `
  FROM below b JOIN pg_catalog.pg_index i ON i.indrelid = b.rel
  WHERE (i.indisunique AND b.rel = b.root OR i.indisexclusion) AND NOT (i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL))
SELECT DISTINCT v.root::text, COALESCE(a.attname::text, ''), v.sql
FROM (
  SELECT b.root, k.conrelid AS rel, COALESCE(u.attnum, 0) AS attnum, CASE WHEN k.contype = 'c' AND k.convalidated THEN pg_catalog.pg_get_expr(k.conbin, k.conrelid) ELSE '' END AS sql
  FROM below b JOIN pg_catalog.pg_constraint k ON k.conrelid = b.rel LEFT JOIN LATERAL pg_catalog.unnest(k.conkey) AS u(attnum) ON true
  WHERE k.contype IN ('c', 'x') AND (b.rel = b.root OR k.coninhcount = 0)
  UNION ALL
  SELECT l.root, l.rel, u.attnum, ''
  FROM looking l JOIN pg_catalog.pg_index i ON i.indexrelid = l.oid CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) AS u(attnum) WHERE u.attnum <> 0
  UNION ALL
  SELECT l.root, l.rel, p.refobjsubid, ''
  FROM looking l JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.objid = l.oid
    AND p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid = l.rel AND p.refobjsubid > 0
  UNION ALL
  SELECT l.root, l.rel, 0, '' FROM looking l WHERE l.whole
) v LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = v.rel AND a.attnum = v.attnum AND a.attnum > 0
ORDER BY 1, 3, 2`

	// What the table, its partitions and the tables that it is a partition of are partitioned
	// by. An expression's columns are the variables in its tree: how they hang together in
	// pg_depend differs from version to version.
	partitionQuery = `
WITH RECURSIVE above (root, rel) AS (
  SELECT o, o FROM pg_catalog.unnest($1::text::pg_catalog.oid[]) AS o
  UNION
  SELECT a.root, h.inhparent FROM above a JOIN pg_catalog.pg_class c ON c.oid = a.rel AND c.relispartition JOIN pg_catalog.pg_inherits h ON h.inhrelid = a.rel)
SELECT DISTINCT v.root::text, a.attname::text
FROM (SELECT root, rel FROM below UNION SELECT root, rel FROM above) v JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = v.rel
CROSS JOIN LATERAL (
  SELECT pg_catalog.unnest(p.partattrs::pg_catalog.int2[])
  UNION SELECT m[1]::pg_catalog.int2 FROM pg_catalog.regexp_matches(p.partexprs::pg_catalog.text, ':varattno ([0-9]+)', 'g') AS m) u(attnum)
JOIN pg_catalog.pg_attribute a ON a.attrelid = v.rel AND a.attnum = u.attnum AND a.attnum > 0
ORDER BY 1, 2`

	// What indexes that are not unique compute of a row, those of partitions and of tables that inherit among them: the
	// condition and each expression, which is not computed for a row that does not meet the condition, and so comes without its
	// SQL. Each has all columns that the index may compute with.
	indexQuery = `
SELECT b.root::text, x.relname::text, v.sql,
  (SELECT pg_catalog.json_agg(a.attname) FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND (` + wholeRow + ` OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_depend p
    WHERE p.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.objid = i.indexrelid
      AND p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid = i.indrelid AND p.refobjsubid = a.attnum)))::text
FROM below b JOIN pg_catalog.pg_index i ON i.indrelid = b.rel JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
CROSS JOIN LATERAL (
  SELECT 0, pg_catalog.pg_get_expr(i.indpred, i.indrelid) WHERE i.indpred IS NOT NULL
  UNION ALL
  SELECT u.ord, CASE WHEN i.indpred IS NULL THEN pg_catalog.pg_get_indexdef(i.indexrelid, u.ord::pg_catalog.int4, false) ELSE '' END
  FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS u(attnum, ord) WHERE u.attnum = 0) v(ord, sql)
WHERE NOT i.indisunique AND NOT i.indisexclusion
ORDER BY 1, 2, v.ord`
)

// index takes what an index computes.
func (t *described) index(r []any) error {
	var columns []string
	if r[2] != nil {
		if err := json.Unmarshal([]byte(dialect.String(r[2])), &columns); err != nil {
			return fmt.Errorf("postgres: reading the columns of an index: %w", err)
		}
	}
	t.AddIndexed(dialect.String(r[0]), dialect.String(r[1]), func(c string) bool { return slices.Contains(columns, c) })
	return nil
}

// check takes a column that a constraint mentions, "" for all of them, and the condition.
func (t *described) check(r []any) error {
	n := len(t.Checks)
	if n == 0 || t.Checks[n-1].SQL != dialect.String(r[1]) {
		t.Checks = append(t.Checks, schema.Check{SQL: dialect.String(r[1])})
		n++
	}
	last := &t.Checks[n-1]
	if dialect.String(r[0]) != "" {
		t.checked[dialect.String(r[0])] = true
		last.Columns = append(last.Columns, dialect.String(r[0]))
		return nil
	}
	for _, c := range t.Columns {
		t.checked[c.Name] = true
		last.Columns = append(last.Columns, c.Name)
	}
	return nil
}

// partitioned takes a column that decides which partition a row is in.
func (t *described) partitioned(r []any) error {
	t.Partition(dialect.String(r[0]))
	return nil
}
