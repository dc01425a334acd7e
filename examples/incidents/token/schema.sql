CREATE TABLE access_token (
  id BIGINT PRIMARY KEY,
  uid BIGINT NOT NULL,
  name VARCHAR(255) NOT NULL,
  token_hash VARCHAR(64) NOT NULL UNIQUE,
  token_salt VARCHAR(64) NOT NULL,
  token_last_eight VARCHAR(8) NOT NULL,
  created_unix BIGINT NOT NULL,
  updated_unix BIGINT NOT NULL
);
CREATE INDEX access_token_last_eight ON access_token (token_last_eight);
INSERT INTO access_token VALUES (1, 2, 'ci', '9d5e3ecdeb4c', 'salt', '53e1a0f7', 1700000000, 1700000000);
