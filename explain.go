package slotsql

import (
	"context"
	"database/sql"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/explain"
)

// Explanation says what slotsql makes of a statement. Its String is for
// people; as JSON it is for programs, which may find further keys in later
// versions.
type Explanation = explain.Explanation

// ExplainedText is a statement of slotsql's with where its arguments come
// from: "arg 1" is the first one of the explained statement, "slot" the
// session's slot number. Without Args it takes those of the explained
// statement, or none.
type ExplainedText = explain.ExplainedText

// ExplainedDrain is how one table is drained: the rows of the unique key that
// the statement fixes, or all.
type ExplainedDrain = explain.ExplainedDrain

// Explain says what a wrapped database makes of a statement: one opened by Open
// or OpenDB, or by sql.Open under the name of a wrapped driver. It plans with
// what the database says of its tables, and runs nothing of the statement.
func Explain(ctx context.Context, db *sql.DB, query string) (*Explanation, error) {
	return explain.Explain(ctx, db, query)
}

// ExplainSchema is Explain without a database: schema is the text of a schema
// file, which holds the statements that create the tables (CREATE TABLE,
// CREATE UNIQUE INDEX, CREATE TRIGGER, ALTER TABLE; others are skipped), such as
// a dump without data. A table that is not in it is taken as not existing, and
// noted.
func ExplainSchema(d dialect.Dialect, config *Config, schema, query string) (*Explanation, error) {
	return explain.ExplainSchema(d, config, schema, query)
}

// Explainer explains many statements with facts that it has read once. It is
// for one goroutine at a time.
type Explainer = explain.Explainer

// NewSchemaExplainer is ExplainSchema for many statements. Tables that the
// schema file lacks are taken as not existing, without a note.
func NewSchemaExplainer(d dialect.Dialect, config *Config, schema string) (*Explainer, error) {
	return explain.NewSchemaExplainer(d, config, schema)
}
