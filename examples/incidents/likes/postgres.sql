CREATE TABLE post_aggregates (post_id INT PRIMARY KEY, score BIGINT NOT NULL, upvotes BIGINT NOT NULL);
CREATE TABLE post_like (post_id INT NOT NULL, person_id BIGINT NOT NULL, score INT NOT NULL, PRIMARY KEY (post_id, person_id));
CREATE TABLE sent_activity (person_id BIGINT PRIMARY KEY, kind VARCHAR(20) NOT NULL);
INSERT INTO post_aggregates VALUES (1, 0, 0);

CREATE FUNCTION post_aggregates_score() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE post_aggregates SET score = score + NEW.score, upvotes = upvotes + 1 WHERE post_id = NEW.post_id;
  RETURN NULL;
END $$;
CREATE TRIGGER post_aggregates_score AFTER INSERT ON post_like FOR EACH ROW EXECUTE FUNCTION post_aggregates_score();
