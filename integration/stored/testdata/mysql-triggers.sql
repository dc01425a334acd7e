-- procedure counted
DROP PROCEDURE IF EXISTS `counted`;
CREATE DEFINER=`root`@`localhost` PROCEDURE `counted`(p BIGINT)
BEGIN SET @slotsql_rows = `app`.`posts_count`(p, 0, 1); END;
-- trigger commented
DROP TRIGGER IF EXISTS `commented`;
CREATE DEFINER=`root`@`localhost` TRIGGER commented AFTER INSERT ON comments FOR EACH ROW SET @slotsql_rows = `app`.`posts_count`(NEW.post_id, 1, 0);
-- trigger uncommented
--   as it was: UPDATE posts SET views = GREATEST(views - 1, 0) WHERE id = OLD.post_id: the statement sets counter views
DROP TRIGGER IF EXISTS `uncommented`;
CREATE DEFINER=`root`@`localhost` TRIGGER uncommented AFTER DELETE ON comments FOR EACH ROW
BEGIN
  DECLARE n, m INT DEFAULT 2;
  SET @slotsql_rows = `app`.`posts_count`(OLD.post_id, -n, 1);
  UPDATE posts SET views = GREATEST(views - 1, 0) WHERE id = OLD.post_id;
END;
