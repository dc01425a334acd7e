CREATE TABLE execution (
  id BIGINT PRIMARY KEY,
  status VARCHAR(16) NOT NULL,
  revision BIGINT NOT NULL,
  update_time BIGINT NOT NULL
);
INSERT INTO execution VALUES (1, 'Running', 0, 0);
