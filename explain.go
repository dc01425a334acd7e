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
// from: "arg 1" is the first argument of the explained statement, "slot" the slot
// number. Without Args it takes the arguments of the explained statement, or none.
type ExplainedStatement = explain.ExplainedStatement

// ExplainedDrain is how one table is drained: the rows of the unique key that
// the statement fixes, or all.
type ExplainedDrain = explain.ExplainedDrain

// Explain returns how a wrapped database runs a statement. The database is one
// opened by Open or OpenDB, or by sql.Open under the name of a wrapped driver.
// Nothing of the statement is run; only the catalog is read.
func Explain(ctx context.Context, db *sql.DB, query string) (*Explanation, error) {
	return explain.Explain(ctx, db, query)
}

// ExplainSchema is Explain without a database. The schema is the content of a
// schema file, such as a dump without data: the statements that create the tables
// (CREATE TABLE, CREATE UNIQUE INDEX, CREATE TRIGGER, ALTER TABLE; others are
// skipped). A table that is not in it does not exist, and a note says so.
func ExplainSchema(d dialect.Dialect, config *Config, schema, query string) (*Explanation, error) {
	return explain.ExplainSchema(d, config, schema, query)
}

// Explainer explains many statements from facts that it reads once. It must not
// be used by several goroutines at the same time.
type Explainer = explain.Explainer

// NewExplainer connects and reads what explaining needs. It changes nothing, and
// slot tables need not exist. The context covers all later reads of the catalog,
// too. Close ends the connection.
func NewExplainer(ctx context.Context, c *Connector) (*Explainer, error) {
	return explain.NewExplainerOf(ctx, c.shared, c.every.Catalog)
}
