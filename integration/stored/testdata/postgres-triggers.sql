-- function commented()
--   as it was: UPDATE posts SET views = views + n, title = title WHERE id = NEW.post_id: the statement also sets ordinary columns
--   as it was: UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = NEW.post_id: likes may be NULL, which the function leaves as it is
CREATE OR REPLACE FUNCTION public.commented()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  n integer := 2;
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE posts SET views = views + n, title = title WHERE id = NEW.post_id;
    IF "public"."posts_count"(NEW.post_id, "views" => n, "likes" => -1) IS NULL THEN END IF;
    UPDATE posts SET likes = COALESCE(likes, 0) + 1 WHERE id = NEW.post_id;
    RETURN NEW;
  END IF;
  IF "public"."posts_count"(OLD.post_id, "views" => -1) IS NULL THEN END IF;
  UPDATE posts SET title = 'x' WHERE id = OLD.post_id;
  RETURN OLD;
END $function$
;
-- function counted(bigint)
CREATE OR REPLACE FUNCTION public.counted(p bigint)
 RETURNS void
 LANGUAGE sql
AS $function$ SELECT "public"."posts_count"(p, "views" => 1) $function$
;
-- rule commenting on comments
--   as it was: UPDATE posts SET views = (posts.views + 1) WHERE (posts.id = new.post_id): a rule returns the rows of a call to whoever writes to the table: make it a trigger
;
