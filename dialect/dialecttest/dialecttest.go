// Package dialecttest is what every dialect has to pass, and what a new one would
// run first. Its pure part asks how the dialect reads and writes SQL; its live part
// runs on a database of the engine, with slotsql's own SQL sent by hand. What is
// special to an engine is tested beside its dialect.
//
//	func TestConformance(t *testing.T) {
//		dialecttest.Run(t, dialecttest.Options{Dialect: mysql.New(), Unread: unread})
//	}
package dialecttest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Options say which dialect is tested, and what of its engine the suite cannot know.
type Options struct {
	Dialect dialect.Dialect

	// Shapes are statements of the engine's own, beside those that all engines
	// take, with what Sketch makes of them.
	Shapes [][2]string
	// Unread are words of SQL that the dialect writes and its parser does not know:
	// a statement with one of them is left to the live part.
	Unread []string

	// Open opens a new, empty database; nil for the pure part alone. The dialect has
	// to know its driver then: see dialect.ErrorClassifier.
	Open func(t *testing.T) *sql.DB
	// Impatient is the statement after which one of the session waits for a lock no
	// longer than a second or so.
	Impatient string
	// Columns are columns of further types, with what Table says of each.
	Columns []Column
	// Changes are statements that change the definition of the table posts, beside those that all engines
	// take.
	Changes []string
	// Glances have to show what the dialect's own Glance has to.
	Glances []Glance
}

// Glance is the method of dialect.Watcher.
type Glance func(context.Context, dialect.Session, []dialect.WrittenName, []dialect.Mark) (dialect.Glance, error)

// Column is a column by its definition, and what Table says of it.
type Column struct {
	Definition string
	Facts      schema.Column
}

// Run tests a dialect.
func Run(t *testing.T, o Options) {
	t.Run("names", o.names)
	t.Run("parse", o.parse)
	t.Run("refuses", o.refuses)
	t.Run("statements", o.statements)
	t.Run("promises", o.promises)
	if o.Open == nil {
		return
	}
	t.Run("tables", o.tables)
	t.Run("slot tables", o.slotTables)
	t.Run("counts", o.counts)
	t.Run("adds many", o.addsMany)
	t.Run("shares", o.shares)
	t.Run("rolls up", o.rollsUp)
	t.Run("merges", o.merges)
	t.Run("leases", o.leases)
	t.Run("transactions", o.transactions)
	t.Run("marks", o.marks)
	t.Run("glances", o.glances)
	t.Run("errors", o.errors)
}
