package slotsql

import (
	"context"
	"database/sql"

	"github.com/slotsql/slotsql/internal/explain"
)

// Explanation describes how slotsql runs a statement. String formats it for people in at
// most 12 lines of 80 columns, and Detailed also with the SQL that is sent, one clause a
// line. Later versions may add keys to its JSON. Fields that do not apply are empty:
//
//   - Verdict is one sentence: how fast the statement is, why, and what would be faster.
//     Speed (fast, as plain, slower or refused), Because and Instead are its parts.
//   - Asleep and Awake are what happens while the tables have no slots, and while they have
//     some; without Asleep, Awake is what always happens. Groups tells which executions share
//     a statement on the base row, or why none do.
//   - Statement is the explained SQL. Class is pass-through, additive, additive-base,
//     upsert, read, drain, multi or refused; see docs/contributing/life-of-a-statement.md.
//   - Reason is why the statement is not faster, or why it is refused.
//   - Tables are the counter tables concerned.
//   - Scope is which rows a statement of class drain drains, and Denied reports whether
//     on_drain: error refuses it.
//   - Cold tells when an increment runs as written on the base row, and Bounded when a
//     guarded statement on a counter with min or max runs as written, before any drain.
//   - Group is the statement on the base row that overlapping executions share; NotGrouped
//     is why there is none.
//   - Increment is the slotted upsert. Again runs in its place on a connection that has
//     written the same slot row before, and AgainLocked in a transaction on PostgreSQL.
//   - Requires lists what arguments must be for the statement to run as an increment.
//     Fallback tells what runs if they are not, or if the increment affects no row.
//   - Observed is the statement with one more column, which reports whether there are slots. It
//     is sent first, and gives the result if there are none. Rewritten is the SQL that is sent
//     otherwise. FoldFirst reports whether slots are folded before that, outside transactions.
//   - Proof runs in one round trip instead of a drain if the row has no slots. Confirm runs
//     behind the statement as written, and shows that Proof is not needed.
//   - Drains are the tables that are locked and folded before the statement; Before and
//     After are DDL of slot tables around it.
//   - Shadow is the explanation with mode on for tables that have mode shadow.
//   - Parts are the explanations of several statements sent in one call.
//   - Notes are what else is worth knowing.
type Explanation = explain.Explanation

// ExplainedStatement is a statement that slotsql sends, and where its arguments come
// from: "arg 1" is the first argument of the explained statement, "slot" the slot number.
// Its fields are SQL and Args. If Args is empty, the statement takes the arguments of the
// explained statement, or none.
type ExplainedStatement = explain.ExplainedStatement

// ExplainedDrain describes how one table is drained: the rows of a unique key, or all rows:
//
//   - Table is the table's name, and Scope is as in Explanation.
//   - Unless tells when all rows are drained in spite of Scope, and Missing what happens to
//     further rows with slots that the statement finds.
//   - Lock are the statements that lock rows, and Fold those that move slots. Folding tells
//     how slots are moved if the statements depend on the slot rows that exist.
type ExplainedDrain = explain.ExplainedDrain

// Explain returns how a wrapped database runs a statement. The database must have been
// opened by Open, OpenDB, or sql.Open under the name of a wrapped driver. The statement
// is not run; only the catalog is read.
func Explain(ctx context.Context, db *sql.DB, query string) (*Explanation, error) {
	return explain.Explain(ctx, db, query)
}

// Explainer explains statements from facts that it reads once. Explain(query) returns an
// *Explanation; Close closes its connection. It is not safe for concurrent use. Look, Table,
// Unknown and ExplainWith are for slotsql's own commands.
type Explainer = explain.Explainer

// NewExplainer connects and reads what is needed to explain statements. It changes
// nothing, and slot tables need not exist. The context also covers all later reads of the
// catalog. Close closes the connection.
func NewExplainer(ctx context.Context, c *Connector) (*Explainer, error) {
	return explain.NewExplainerOf(ctx, c.shared, c.every.Catalog)
}
