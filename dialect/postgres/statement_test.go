package postgres

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// TestStatements pins the SQL, one line per statement.
func TestStatements(t *testing.T) {
	tb := &schema.Table{
		Schema: "public",
		Name:   "posts",
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 64}},
			{Name: "views", Type: "integer", NumericType: schema.NumericType{Numeric: schema.Integer, Bits: 32}},
			{Name: "score", Type: "numeric(12,2)", NumericType: schema.NumericType{Numeric: schema.Decimal, Precision: 12, Scale: 2}},
		},
		Counter: &schema.Counter{
			Key:       []string{"id"},
			Counters:  []string{"views", "score"},
			Slots:     64,
			SlotTable: schema.SlotTable{Schema: "public", Name: "posts_slots", Column: "slot"},
		},
	}
	d := New()
	scope := rewrite.Scope{Ref: "posts AS p", Qualifier: "p", Where: "p.id = $1"}
	in := rewrite.IncrementSQL{
		Ref:       "posts AS p",
		Qualifier: "p",
		Where:     "p.id = $2",
		Slot:      "$1",
		Deltas:    []rewrite.Delta{{Column: "views", SQL: "$3"}},
	}
	var got []string
	got = append(got, d.Increment(tb, in))
	in.Deltas[0] = rewrite.Delta{Column: "score", SQL: "-0.5"}
	got = append(got, d.Increment(tb, in), d.Total(tb, "p", "views", false))
	got = append(got, d.Lock(tb, scope)...)
	got = append(got, d.Fold(tb, scope)...)
	got = append(got, d.Lock(tb, rewrite.Scope{})...)
	got = append(got, d.Fold(tb, rewrite.Scope{})...)
	got = append(got, d.CreateSlots(tb)...)
	got = append(got, d.DropSlots(tb)...)
	want := strings.Split(strings.TrimSpace(statements), "\n")
	for i, g := range got {
		if i >= len(want) || g != want[i] {
			t.Errorf("statement %d is\n%s", i, g)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d statements, want %d", len(got), len(want))
	}
}

const statements = `
INSERT INTO "public"."posts_slots" AS slotsql_s ("id", "slot", "views") SELECT slotsql_q."id", CAST($1 AS smallint), CAST($3 AS integer) FROM (SELECT p."id" FROM posts AS p WHERE (p.id = $2) AND p."views" BETWEEN -1073741824 AND 1073741824 AND CAST($3 AS integer) BETWEEN -1864135 AND 1864135 AND pg_catalog.has_column_privilege('"public"."posts"'::pg_catalog.regclass, 'views', 'UPDATE') OFFSET 0 FOR SHARE) AS slotsql_q WHERE TRUE ON CONFLICT ("id", "slot") DO UPDATE SET "views" = slotsql_s."views" + excluded."views" WHERE slotsql_s."views" + excluded."views" BETWEEN -1864135 AND 1864135
INSERT INTO "public"."posts_slots" AS slotsql_s ("id", "slot", "score") SELECT slotsql_q."id", CAST($1 AS smallint), CAST(-0.5 AS numeric(12,2)) FROM (SELECT p."id" FROM posts AS p WHERE (p.id = $2) AND p."score" BETWEEN -5e9 AND 5e9 AND CAST(-0.5 AS numeric(12,2)) BETWEEN -86805e2 AND 86805e2 AND CAST(-0.5 AS numeric) = CAST(-0.5 AS numeric(12,2)) AND pg_catalog.has_column_privilege('"public"."posts"'::pg_catalog.regclass, 'score', 'UPDATE') OFFSET 0 FOR SHARE) AS slotsql_q WHERE TRUE ON CONFLICT ("id", "slot") DO UPDATE SET "score" = slotsql_s."score" + excluded."score" WHERE slotsql_s."score" + excluded."score" BETWEEN -86805e2 AND 86805e2
CASE WHEN (SELECT TRUE FROM "public"."posts_slots" slotsql_s WHERE slotsql_s."id" = p."id" ORDER BY slotsql_s."slot" LIMIT 1) THEN CAST(COALESCE(p."views" + (SELECT SUM(slotsql_s."views") FROM "public"."posts_slots" slotsql_s WHERE slotsql_s."id" = p."id"), p."views") AS integer) ELSE p."views" END
WITH slotsql_w AS (DELETE FROM "public"."posts_slots" WHERE false), slotsql_l AS (SELECT 1 FROM posts AS p WHERE (p.id = $1) ORDER BY p."id" FOR NO KEY UPDATE) SELECT 1 FROM slotsql_l
WITH slotsql_d AS (DELETE FROM "public"."posts_slots" AS slotsql_s WHERE (slotsql_s."id") IN (SELECT p."id" FROM posts AS p WHERE (p.id = $1)) RETURNING slotsql_s."id", slotsql_s."views", slotsql_s."score", EXISTS (SELECT 1 FROM "public"."posts" AS slotsql_b WHERE slotsql_b."id" = slotsql_s."id" AND NOT slotsql_b.xmin = slotsql_s.xmin) AS slotsql_apart), slotsql_t AS (SELECT "id", SUM("views") AS "views", SUM("score") AS "score", pg_catalog.bool_or(slotsql_apart) AS slotsql_apart FROM slotsql_d GROUP BY "id"), slotsql_o AS (SELECT slotsql_b."id", slotsql_b."views", slotsql_b."score" FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id") IN (SELECT slotsql_t."id" FROM slotsql_t WHERE (slotsql_t."views" <> 0 OR slotsql_t."score" <> 0 OR slotsql_t.slotsql_apart)) FOR NO KEY UPDATE), slotsql_u AS (UPDATE "public"."posts" AS slotsql_b SET "views" = slotsql_b."views" + slotsql_t."views", "score" = slotsql_b."score" + slotsql_t."score" FROM slotsql_t, slotsql_o WHERE slotsql_b."id" = slotsql_t."id" AND slotsql_b."id" = slotsql_o."id" AND (slotsql_t."views" <> 0 OR slotsql_t."score" <> 0 OR slotsql_t.slotsql_apart) RETURNING slotsql_b."id", slotsql_b."views" IS NOT DISTINCT FROM slotsql_o."views" + COALESCE(slotsql_t."views", 0) AND slotsql_b."score" IS NOT DISTINCT FROM slotsql_o."score" + COALESCE(slotsql_t."score", 0) AS slotsql_in) SELECT CASE WHEN slotsql_u.slotsql_in THEN 1 WHEN slotsql_o."id" IS NULL AND NOT pg_catalog.row_security_active(CAST('"public"."posts"' AS pg_catalog.regclass)) THEN 1 ELSE CAST(pg_catalog.concat(CASE WHEN slotsql_o."id" IS NULL THEN 'slotsql: hidden' WHEN slotsql_u.slotsql_in IS NULL THEN 'slotsql: not updated' ELSE 'slotsql: not taken' END, pg_catalog.left(CAST(slotsql_t."views" AS text), 0)) AS integer) END FROM slotsql_t LEFT JOIN slotsql_o ON slotsql_t."id" = slotsql_o."id" LEFT JOIN slotsql_u ON slotsql_t."id" = slotsql_u."id" WHERE (slotsql_t."views" <> 0 OR slotsql_t."score" <> 0)
LOCK TABLE "public"."posts_slots" IN SHARE ROW EXCLUSIVE MODE
WITH slotsql_d AS (DELETE FROM "public"."posts_slots" AS slotsql_s RETURNING slotsql_s."id", slotsql_s."views", slotsql_s."score", EXISTS (SELECT 1 FROM "public"."posts" AS slotsql_b WHERE slotsql_b."id" = slotsql_s."id" AND NOT slotsql_b.xmin = slotsql_s.xmin) AS slotsql_apart), slotsql_t AS (SELECT "id", SUM("views") AS "views", SUM("score") AS "score", pg_catalog.bool_or(slotsql_apart) AS slotsql_apart FROM slotsql_d GROUP BY "id"), slotsql_o AS (SELECT slotsql_b."id", slotsql_b."views", slotsql_b."score" FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id") IN (SELECT slotsql_t."id" FROM slotsql_t WHERE (slotsql_t."views" <> 0 OR slotsql_t."score" <> 0 OR slotsql_t.slotsql_apart)) FOR NO KEY UPDATE), slotsql_u AS (UPDATE "public"."posts" AS slotsql_b SET "views" = slotsql_b."views" + slotsql_t."views", "score" = slotsql_b."score" + slotsql_t."score" FROM slotsql_t, slotsql_o WHERE slotsql_b."id" = slotsql_t."id" AND slotsql_b."id" = slotsql_o."id" AND (slotsql_t."views" <> 0 OR slotsql_t."score" <> 0 OR slotsql_t.slotsql_apart) RETURNING slotsql_b."id", slotsql_b."views" IS NOT DISTINCT FROM slotsql_o."views" + COALESCE(slotsql_t."views", 0) AND slotsql_b."score" IS NOT DISTINCT FROM slotsql_o."score" + COALESCE(slotsql_t."score", 0) AS slotsql_in) SELECT CASE WHEN slotsql_u.slotsql_in THEN 1 WHEN slotsql_o."id" IS NULL AND NOT pg_catalog.row_security_active(CAST('"public"."posts"' AS pg_catalog.regclass)) THEN 1 ELSE CAST(pg_catalog.concat(CASE WHEN slotsql_o."id" IS NULL THEN 'slotsql: hidden' WHEN slotsql_u.slotsql_in IS NULL THEN 'slotsql: not updated' ELSE 'slotsql: not taken' END, pg_catalog.left(CAST(slotsql_t."views" AS text), 0)) AS integer) END FROM slotsql_t LEFT JOIN slotsql_o ON slotsql_t."id" = slotsql_o."id" LEFT JOIN slotsql_u ON slotsql_t."id" = slotsql_u."id" WHERE (slotsql_t."views" <> 0 OR slotsql_t."score" <> 0)
SELECT pg_catalog.pg_advisory_xact_lock(-7933443863410222437)
CREATE TABLE IF NOT EXISTS "public"."posts_slots" ("id" bigint NOT NULL, "slot" smallint NOT NULL, "views" bigint NOT NULL DEFAULT 0, "score" numeric NOT NULL DEFAULT 0, PRIMARY KEY ("id", "slot"), FOREIGN KEY ("id") REFERENCES "public"."posts" ("id") ON DELETE CASCADE ON UPDATE CASCADE) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)
DROP TABLE IF EXISTS "public"."posts_slots"
`
