-- GRANT EXECUTE ON FUNCTION `app`.`posts_count` TO app;
-- GRANT SELECT, UPDATE ON `app`.`posts` TO app;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`slotted_counters` TO app;
CREATE OR REPLACE FUNCTION `app`.`posts_count`(`slotsql_in_id` bigint(20), `slotsql_in_views` BIGINT, `slotsql_in_likes` BIGINT)
RETURNS INT MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'slotsql_made_00000000'
BEGIN
  DECLARE slotsql_rows BIGINT DEFAULT 0;
  DECLARE slotsql_sum1 DECIMAL(65,0);
  DECLARE slotsql_sum2 DECIMAL(65,0);
  IF `slotsql_in_views` IS NULL OR `slotsql_in_likes` IS NULL THEN
    SIGNAL SQLSTATE '22004' SET MESSAGE_TEXT = 'what is added to a counter must not be NULL';
  END IF;
  IF `slotsql_in_views` BETWEEN -59652323 AND 59652323 AND `slotsql_in_likes` BETWEEN -59652323 AND 59652323 AND (`slotsql_in_views` <> 0 OR `slotsql_in_likes` <> 0) THEN
    -- the base row, if no other transaction holds it
    IF EXISTS (SELECT 1 FROM `app`.`posts` AS slotsql_a FORCE INDEX (PRIMARY) WHERE slotsql_a.`id` = `slotsql_in_id` FOR UPDATE SKIP LOCKED) THEN
      UPDATE `app`.`posts` AS slotsql_b SET slotsql_b.`views` = slotsql_b.`views` + `slotsql_in_views`, slotsql_b.`likes` = slotsql_b.`likes` + `slotsql_in_likes` WHERE slotsql_b.`id` = `slotsql_in_id` AND (slotsql_b.`views` IS NULL OR slotsql_b.`views` BETWEEN -1073741824 AND 1073741824) AND (slotsql_b.`likes` IS NULL OR slotsql_b.`likes` BETWEEN -1073741824 AND 1073741824);
      IF ROW_COUNT() > 0 THEN RETURN 1; END IF;
    END IF;
    -- a slot of the session
    IF `slotsql_in_views` <> 0 THEN
      BEGIN
        DECLARE CONTINUE HANDLER FOR 1264, 1690, 3819, 4025, 1292 BEGIN END;
        SET slotsql_rows = 0;
        INSERT INTO `app`.`slotted_counters` (`record_type`, `record_id`, `slot`, `count`) SELECT 1, slotsql_c.`id`, MOD(CONNECTION_ID(), 8), CAST(`slotsql_in_views` AS SIGNED) FROM `app`.`posts` AS slotsql_c FORCE INDEX (PRIMARY) WHERE (slotsql_c.`id` = `slotsql_in_id`) AND CAST(`slotsql_in_views` AS SIGNED) BETWEEN -14913080 AND 14913080 AND slotsql_c.`views` BETWEEN -1073741824 AND 1073741824 LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE `count` = IF(`app`.`slotted_counters`.`count` + VALUES(`count`) BETWEEN -14913080 AND 14913080, `app`.`slotted_counters`.`count` + VALUES(`count`), (`app`.`slotted_counters`.`slot` + 1) * 9223372036854775807 * 4);
        SET slotsql_rows = ROW_COUNT();
      END;
      IF slotsql_rows > 0 THEN SET `slotsql_in_views` = 0; END IF;
    END IF;
    IF `slotsql_in_likes` <> 0 THEN
      BEGIN
        DECLARE CONTINUE HANDLER FOR 1264, 1690, 3819, 4025, 1292 BEGIN END;
        SET slotsql_rows = 0;
        INSERT INTO `app`.`slotted_counters` (`record_type`, `record_id`, `slot`, `count`) SELECT 2, slotsql_c.`id`, MOD(CONNECTION_ID(), 8), CAST(`slotsql_in_likes` AS SIGNED) FROM `app`.`posts` AS slotsql_c FORCE INDEX (PRIMARY) WHERE (slotsql_c.`id` = `slotsql_in_id`) AND CAST(`slotsql_in_likes` AS SIGNED) BETWEEN -14913080 AND 14913080 AND slotsql_c.`likes` BETWEEN -1073741824 AND 1073741824 LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE `count` = IF(`app`.`slotted_counters`.`count` + VALUES(`count`) BETWEEN -14913080 AND 14913080, `app`.`slotted_counters`.`count` + VALUES(`count`), (`app`.`slotted_counters`.`slot` + 1) * 9223372036854775807 * 4);
        SET slotsql_rows = ROW_COUNT();
      END;
      IF slotsql_rows > 0 THEN SET `slotsql_in_likes` = 0; END IF;
    END IF;
    IF `slotsql_in_views` = 0 AND `slotsql_in_likes` = 0 THEN RETURN 1; END IF;
  END IF;
  -- the base row, when other transactions have let go of it; with its slots added, its own values decide
  SELECT COUNT(*) INTO slotsql_rows FROM `app`.`posts` AS slotsql_b FORCE INDEX (PRIMARY) WHERE slotsql_b.`id` = `slotsql_in_id` FOR UPDATE;
  IF slotsql_rows = 0 THEN RETURN 0; END IF;
  SELECT COUNT(*), COALESCE(SUM(CASE `app`.`slotted_counters`.`record_type` WHEN 1 THEN `app`.`slotted_counters`.`count` ELSE 0 END), 0), COALESCE(SUM(CASE `app`.`slotted_counters`.`record_type` WHEN 2 THEN `app`.`slotted_counters`.`count` ELSE 0 END), 0) INTO slotsql_rows, slotsql_sum1, slotsql_sum2 FROM `app`.`slotted_counters` FORCE INDEX (PRIMARY) WHERE `app`.`slotted_counters`.`record_type` IN (1, 2) AND `app`.`slotted_counters`.`record_id` = `slotsql_in_id` FOR UPDATE;
  IF slotsql_rows > 0 THEN
    UPDATE `app`.`posts` AS slotsql_b SET slotsql_b.`views` = slotsql_b.`views` + slotsql_sum1, slotsql_b.`likes` = slotsql_b.`likes` + slotsql_sum2 WHERE slotsql_b.`id` = `slotsql_in_id`;
    DELETE FROM `app`.`slotted_counters` WHERE `app`.`slotted_counters`.`record_type` IN (1, 2) AND `app`.`slotted_counters`.`record_id` = `slotsql_in_id`;
  END IF;
  UPDATE `app`.`posts` AS slotsql_b SET slotsql_b.`views` = slotsql_b.`views` + `slotsql_in_views`, slotsql_b.`likes` = slotsql_b.`likes` + `slotsql_in_likes` WHERE slotsql_b.`id` = `slotsql_in_id` AND TRUE;
  RETURN ROW_COUNT();
END;
-- GRANT SELECT ON `app`.`posts_totals` TO reports;
CREATE OR REPLACE VIEW `app`.`posts_totals` AS
SELECT slotsql_made_00000000.`id` AS `id`,
  slotsql_made_00000000.`title` AS `title`,
  CAST(COALESCE(CASE WHEN slotsql_made_00000000.`id` IN (SELECT slotsql_s.`record_id` FROM `app`.`slotted_counters` AS slotsql_s FORCE INDEX (PRIMARY) WHERE slotsql_s.`record_type` = 1) THEN slotsql_made_00000000.`views` + (SELECT SUM(slotsql_s.`count`) FROM `app`.`slotted_counters` AS slotsql_s FORCE INDEX (PRIMARY) WHERE slotsql_s.`record_type` = 1 AND slotsql_s.`record_id` = slotsql_made_00000000.`id`) END, slotsql_made_00000000.`views`) AS SIGNED) AS `views`,
  CAST(COALESCE(CASE WHEN slotsql_made_00000000.`id` IN (SELECT slotsql_s.`record_id` FROM `app`.`slotted_counters` AS slotsql_s FORCE INDEX (PRIMARY) WHERE slotsql_s.`record_type` = 2) THEN slotsql_made_00000000.`likes` + (SELECT SUM(slotsql_s.`count`) FROM `app`.`slotted_counters` AS slotsql_s FORCE INDEX (PRIMARY) WHERE slotsql_s.`record_type` = 2 AND slotsql_s.`record_id` = slotsql_made_00000000.`id`) END, slotsql_made_00000000.`likes`) AS SIGNED) AS `likes`
FROM `app`.`posts` AS slotsql_made_00000000;
