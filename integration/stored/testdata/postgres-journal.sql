-- GRANT EXECUTE ON FUNCTION "public"."posts_count" TO app;
-- GRANT SELECT, UPDATE ON "public"."posts" TO app;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."posts_slots" TO app;
CREATE OR REPLACE FUNCTION "public"."posts_count"("id" bigint, "views" bigint DEFAULT 0, "likes" bigint DEFAULT 0)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $slotsql$
-- slotsql_made_00000000
#variable_conflict use_column
DECLARE
  slotsql_rows integer;
  slotsql_slot bigint := CAST(pg_catalog.floor(pg_catalog.random() * 1e18) AS bigint) + 1048576;
BEGIN
  IF $2 IS NULL OR $3 IS NULL THEN
    RAISE 'what is added to a counter must not be NULL' USING ERRCODE = '22004';
  END IF;
  -- a slot of the session
  BEGIN
    INSERT INTO "public"."posts_slots" AS slotsql_s ("id", "slot", "views", "likes") SELECT slotsql_q."id", CAST(slotsql_slot AS bigint), CAST($2 AS integer), CAST($3 AS integer) FROM (SELECT slotsql_b."id", slotsql_b.ctid AS slotsql_c, slotsql_b.tableoid AS slotsql_r FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id" = $1) AND slotsql_b."views" BETWEEN -1073741824 AND 1073741824 AND CAST($2 AS integer) BETWEEN -262143 AND 262143 AND slotsql_b."likes" BETWEEN -1073741824 AND 1073741824 AND CAST($3 AS integer) BETWEEN -262143 AND 262143 AND (pg_catalog.has_table_privilege('"public"."posts"'::pg_catalog.regclass, 'UPDATE') OR pg_catalog.has_column_privilege('"public"."posts"'::pg_catalog.regclass, 'views', 'UPDATE') AND pg_catalog.has_column_privilege('"public"."posts"'::pg_catalog.regclass, 'likes', 'UPDATE')) OFFSET 0 FOR KEY SHARE) AS slotsql_q WHERE (SELECT CASE WHEN slotsql_b.xmax = CAST(pg_catalog.pg_current_xact_id() AS pg_catalog.xid) THEN TRUE WHEN pg_catalog.mxid_age(slotsql_b.xmax) BETWEEN 1 AND (SELECT pg_catalog.mxid_age(slotsql_k.relminmxid) FROM pg_catalog.pg_class AS slotsql_k WHERE slotsql_k.oid = slotsql_b.tableoid) THEN CASE (SELECT CASE WHEN pg_catalog.bool_and(slotsql_m.mode IN ('keysh', 'sh') OR slotsql_m.xid = CAST(pg_catalog.pg_current_xact_id() AS pg_catalog.xid)) THEN CASE WHEN pg_catalog.bool_or(slotsql_m.xid = CAST(pg_catalog.pg_current_xact_id() AS pg_catalog.xid)) THEN 2 ELSE 1 END END FROM pg_catalog.pg_get_multixact_members(slotsql_b.xmax) AS slotsql_m) WHEN 2 THEN TRUE WHEN 1 THEN EXISTS (SELECT 1 FROM pg_catalog.pg_get_multixact_members(slotsql_b.xmax) AS slotsql_m, pg_catalog.pg_locks AS slotsql_l WHERE slotsql_l.locktype = 'transactionid' AND slotsql_l.pid = pg_catalog.pg_backend_pid() AND slotsql_l.mode = 'ExclusiveLock' AND slotsql_l.transactionid = slotsql_m.xid) ELSE FALSE END ELSE EXISTS (SELECT 1 FROM pg_catalog.pg_locks AS slotsql_l WHERE slotsql_l.locktype = 'transactionid' AND slotsql_l.pid = pg_catalog.pg_backend_pid() AND slotsql_l.mode = 'ExclusiveLock' AND slotsql_l.transactionid = slotsql_b.xmax) END FROM "public"."posts" AS slotsql_b WHERE slotsql_b.ctid = slotsql_q.slotsql_c AND slotsql_b.tableoid = slotsql_q.slotsql_r) ON CONFLICT ("id", "slot") DO UPDATE SET "views" = slotsql_s."views" + excluded."views", "likes" = slotsql_s."likes" + excluded."likes" WHERE slotsql_s."views" + excluded."views" BETWEEN -262143 AND 262143 AND slotsql_s."likes" + excluded."likes" BETWEEN -262143 AND 262143;
  IF FOUND THEN RETURN 1; END IF;
    RAISE SQLSTATE 'SL001';
  EXCEPTION WHEN SQLSTATE 'SL001' THEN NULL;
  END;
  INSERT INTO "public"."posts_slots" AS slotsql_s ("id", "slot", "views", "likes") SELECT slotsql_q."id", CAST(slotsql_slot AS bigint), CAST($2 AS integer), CAST($3 AS integer) FROM (SELECT slotsql_b."id" FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id" = $1) AND slotsql_b."views" BETWEEN -1073741824 AND 1073741824 AND CAST($2 AS integer) BETWEEN -262143 AND 262143 AND slotsql_b."likes" BETWEEN -1073741824 AND 1073741824 AND CAST($3 AS integer) BETWEEN -262143 AND 262143 AND (pg_catalog.has_table_privilege('"public"."posts"'::pg_catalog.regclass, 'UPDATE') OR pg_catalog.has_column_privilege('"public"."posts"'::pg_catalog.regclass, 'views', 'UPDATE') AND pg_catalog.has_column_privilege('"public"."posts"'::pg_catalog.regclass, 'likes', 'UPDATE')) OFFSET 0 FOR SHARE) AS slotsql_q WHERE TRUE ON CONFLICT ("id", "slot") DO UPDATE SET "views" = slotsql_s."views" + excluded."views", "likes" = slotsql_s."likes" + excluded."likes" WHERE slotsql_s."views" + excluded."views" BETWEEN -262143 AND 262143 AND slotsql_s."likes" + excluded."likes" BETWEEN -262143 AND 262143;
  IF FOUND THEN RETURN 1; END IF;
  -- the base row, when other transactions have let go of it
  WITH slotsql_w AS (DELETE FROM "public"."posts_slots" WHERE false), slotsql_l AS (SELECT 1 FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id" = $1) ORDER BY slotsql_b."id" FOR UPDATE) SELECT 1 FROM slotsql_l INTO slotsql_rows;
  IF NOT FOUND THEN RETURN 0; END IF;
  UPDATE "public"."posts" AS slotsql_b SET "views" = slotsql_b."views" + $2, "likes" = slotsql_b."likes" + $3 WHERE slotsql_b."id" = $1 AND $2 BETWEEN -262143 AND 262143 AND (slotsql_b."views" IS NULL OR slotsql_b."views" BETWEEN -1073741824 AND 1073741824) AND $3 BETWEEN -262143 AND 262143 AND (slotsql_b."likes" IS NULL OR slotsql_b."likes" BETWEEN -1073741824 AND 1073741824);
  IF FOUND THEN
    RETURN 1;
  END IF;
  -- with its slots folded, the row's own values decide
  WITH slotsql_n AS (SELECT (NULL, NULL, NULL, NULL) IN (SELECT * FROM "public"."posts_slots" AS slotsql_s WHERE 1 = 0)), slotsql_d AS (DELETE FROM "public"."posts_slots" AS slotsql_s WHERE (slotsql_s."id") IN (SELECT slotsql_b."id" FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id" = $1)) RETURNING slotsql_s."id", slotsql_s."views", slotsql_s."likes", EXISTS (SELECT 1 FROM "public"."posts" AS slotsql_b WHERE slotsql_b."id" = slotsql_s."id" AND NOT slotsql_b.xmin = slotsql_s.xmin) AS slotsql_apart), slotsql_t AS (SELECT "id", SUM("views") AS "views", SUM("likes") AS "likes", pg_catalog.bool_or(slotsql_apart) AS slotsql_apart FROM slotsql_d GROUP BY "id"), slotsql_o AS (SELECT slotsql_b."id", slotsql_b."views", slotsql_b."likes" FROM "public"."posts" AS slotsql_b WHERE (slotsql_b."id") IN (SELECT slotsql_t."id" FROM slotsql_t WHERE (slotsql_t."views" <> 0 OR slotsql_t."likes" <> 0 OR slotsql_t.slotsql_apart)) FOR NO KEY UPDATE), slotsql_u AS (UPDATE "public"."posts" AS slotsql_b SET "views" = slotsql_b."views" + slotsql_t."views", "likes" = slotsql_b."likes" + slotsql_t."likes" FROM slotsql_t, slotsql_o WHERE slotsql_b."id" = slotsql_t."id" AND slotsql_b."id" = slotsql_o."id" AND (slotsql_t."views" <> 0 OR slotsql_t."likes" <> 0 OR slotsql_t.slotsql_apart) RETURNING slotsql_b."id", slotsql_b."views" IS NOT DISTINCT FROM slotsql_o."views" + COALESCE(slotsql_t."views", 0) AND slotsql_b."likes" IS NOT DISTINCT FROM slotsql_o."likes" + COALESCE(slotsql_t."likes", 0) AS slotsql_in) SELECT CASE WHEN slotsql_u.slotsql_in THEN 1 WHEN slotsql_o."id" IS NULL AND NOT pg_catalog.row_security_active(CAST('"public"."posts"' AS pg_catalog.regclass)) THEN 1 ELSE CAST(pg_catalog.concat(CASE WHEN slotsql_o."id" IS NULL THEN 'slotsql: hidden' WHEN slotsql_u.slotsql_in IS NULL THEN 'slotsql: not updated' ELSE 'slotsql: not taken' END, pg_catalog.left(CAST(slotsql_t."views" AS text), 0)) AS integer) END FROM slotsql_t LEFT JOIN slotsql_o ON slotsql_t."id" = slotsql_o."id" LEFT JOIN slotsql_u ON slotsql_t."id" = slotsql_u."id" WHERE (slotsql_t."views" <> 0 OR slotsql_t."likes" <> 0) LIMIT 1 INTO slotsql_rows;
  UPDATE "public"."posts" AS slotsql_b SET "views" = slotsql_b."views" + $2, "likes" = slotsql_b."likes" + $3 WHERE slotsql_b."id" = $1;
  GET DIAGNOSTICS slotsql_rows = ROW_COUNT;
  RETURN slotsql_rows;
END $slotsql$;
-- GRANT SELECT ON "public"."posts_totals" TO reports;
CREATE OR REPLACE VIEW "public"."posts_totals" AS
SELECT slotsql_made_00000000."id" AS "id",
  slotsql_made_00000000."title" AS "title",
  CASE WHEN EXISTS (SELECT 1 FROM "public"."posts_slots" slotsql_s WHERE slotsql_s."id" = slotsql_made_00000000."id") THEN CAST(COALESCE(slotsql_made_00000000."views" + (SELECT SUM(slotsql_s."views") FROM "public"."posts_slots" slotsql_s WHERE slotsql_s."id" = slotsql_made_00000000."id"), slotsql_made_00000000."views") AS integer) ELSE slotsql_made_00000000."views" END AS "views",
  CASE WHEN EXISTS (SELECT 1 FROM "public"."posts_slots" slotsql_s WHERE slotsql_s."id" = slotsql_made_00000000."id") THEN CAST(COALESCE(slotsql_made_00000000."likes" + (SELECT SUM(slotsql_s."likes") FROM "public"."posts_slots" slotsql_s WHERE slotsql_s."id" = slotsql_made_00000000."id"), slotsql_made_00000000."likes") AS integer) ELSE slotsql_made_00000000."likes" END AS "likes"
FROM "public"."posts" AS slotsql_made_00000000;
