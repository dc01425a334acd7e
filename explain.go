package slotsql

import (
	"context"
	"database/sql"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/explain"
)

// Explanation describes how slotsql runs a statement. String formats it for
// people. Later versions may add keys to its JSON.
type Explanation = explain.Explanation

// ExplainedStatement is a statement that slotsql sends, and where its arguments come
// from: "arg 1" is the first argument of the explained statement, "slot" the slot number.
// If Args is empty, the statement takes the arguments of the explained statement, or
// none.
type ExplainedStatement = explain.ExplainedStatement

// ExplainedDrain describes how one table is drained: the rows of a unique key, the rows
// of a key range, or all rows.
type ExplainedDrain = explain.ExplainedDrain

// Explain returns how a wrapped database runs a statement. The database must have been
// opened by Open, OpenDB, or sql.Open under the name of a wrapped driver. The statement
// is not run; only the catalog is read.
func Explain(ctx context.Context, db *sql.DB, query string) (*Explanation, error) {
	return explain.Explain(ctx, db, query)
}

// ExplainSchema is Explain without a database. The schema is the content of a schema
// file, such as a dump without data: the statements that create the tables (CREATE TABLE,
// CREATE UNIQUE INDEX, CREATE TRIGGER, ALTER TABLE; others are skipped). A table that is
// missing in the file is treated as nonexistent, and a note mentions it.
func ExplainSchema(d dialect.Dialect, config *Config, schema, query string) (*Explanation, error) {
	return explain.ExplainSchema(d, config, schema, query)
}

// Explainer explains any number of statements from facts that it reads once. It must not
// be used by several goroutines at the same time.
type Explainer = explain.Explainer

// NewExplainer connects and reads what is needed to explain statements. It changes
// nothing, and slot tables need not exist. The context also covers all later reads of the
// catalog. Close closes the connection.
func NewExplainer(ctx context.Context, c *Connector) (*Explainer, error) {
	return explain.NewExplainerOf(ctx, c.shared, c.every.Catalog)
}
