CREATE TABLE batches (
  id BIGINT PRIMARY KEY,
  n_completed BIGINT NOT NULL,
  n_succeeded BIGINT NOT NULL,
  n_cancelled BIGINT NOT NULL
);
CREATE TABLE attempts (
  worker INT NOT NULL,
  job BIGINT NOT NULL,
  state VARCHAR(40) NOT NULL,
  PRIMARY KEY (worker, job)
);
INSERT INTO batches VALUES (1, 0, 0, 0);
