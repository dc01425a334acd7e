CREATE TABLE organizations (id BIGINT PRIMARY KEY, sequential_id BIGINT NOT NULL);
CREATE TABLE invoices (
  organization_id BIGINT NOT NULL,
  sequential_id BIGINT NOT NULL,
  status VARCHAR(20) NOT NULL,
  PRIMARY KEY (organization_id, sequential_id)
);
INSERT INTO organizations VALUES (1, 0);
