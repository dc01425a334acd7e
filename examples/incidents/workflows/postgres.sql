CREATE TABLE workflow_statistics (
  workflow_id VARCHAR(36) NOT NULL,
  name VARCHAR(128) NOT NULL,
  count BIGINT NOT NULL,
  root_count BIGINT NOT NULL,
  latest_event TIMESTAMP(3) NOT NULL,
  PRIMARY KEY (workflow_id, name)
);
