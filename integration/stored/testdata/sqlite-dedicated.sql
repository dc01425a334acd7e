DROP VIEW IF EXISTS "main"."posts_totals";
CREATE VIEW "main"."posts_totals" AS
SELECT slotsql_made_00000000."id" AS "id",
  slotsql_made_00000000."title" AS "title",
  (SELECT CASE WHEN SUM(slotsql_s."views") <> 0 THEN slotsql_made_00000000."views" + SUM(slotsql_s."views") ELSE slotsql_made_00000000."views" END FROM "main"."posts_slots" AS slotsql_s WHERE slotsql_s."id" = slotsql_made_00000000."id" UNION ALL SELECT slotsql_made_00000000."views" WHERE FALSE) AS "views",
  (SELECT CASE WHEN SUM(slotsql_s."likes") <> 0 THEN slotsql_made_00000000."likes" + SUM(slotsql_s."likes") ELSE slotsql_made_00000000."likes" END FROM "main"."posts_slots" AS slotsql_s WHERE slotsql_s."id" = slotsql_made_00000000."id" UNION ALL SELECT slotsql_made_00000000."likes" WHERE FALSE) AS "likes"
FROM "main"."posts" AS slotsql_made_00000000;
