package session

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// What a ROLLBACK TO SAVEPOINT undoes is forgotten, and what has been found out about slots.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		statements     []string // "+" is a change
		left, slotless int      // changes that are remembered, and rows that have no slots
	}{
		{[]string{"+", "SAVEPOINT a", "+", "ROLLBACK TO SAVEPOINT a"}, 1, 0},
		{[]string{"+", "SAVEPOINT a", "+", "rollback to A;"}, 1, 0},
		{[]string{"+", "SAVEPOINT a", "+", "/* so */ ROLLBACK WORK TO SAVEPOINT a -- there"}, 1, 0},
		{[]string{"+", "SAVEPOINT a", "+", "ROLLBACK TO SAVEPOINT \"a\"", "+", "ROLLBACK TO a"}, 1, 0},
		{[]string{"SAVEPOINT a", "+", "SAVEPOINT b", "+", "ROLLBACK TO a"}, 0, 0},
		{[]string{"SAVEPOINT a", "+", "SAVEPOINT b", "+", "ROLLBACK TO b", "+"}, 2, 1},
		{[]string{"SAVEPOINT a", "+", "SAVEPOINT a", "+", "ROLLBACK TO a"}, 1, 0},
		{[]string{"SAVEPOINT a", "+", "RELEASE SAVEPOINT a", "+"}, 2, 2},
		{[]string{"SAVEPOINT a", "+", "SAVEPOINT b", "RELEASE b", "+", "ROLLBACK TO a"}, 0, 0},
		{[]string{"SAVEPOINT a", "+", "SELECT 1; ROLLBACK TO a"}, 0, 0},
	} {
		conn := WrapConn(New(postgres.New(), &config.Config{}), nil)
		conn.changes, conn.slotlessRows = map[slots.RowKey]rowChange{}, map[slotlessRow]int{}
		for _, query := range c.statements {
			if query == "+" {
				conn.lastChange++
				conn.changes[slots.RowKey{Values: fmt.Sprint(conn.lastChange)}] = rowChange{at: conn.lastChange}
				conn.slotlessRows[slotlessRow{key: fmt.Sprint(conn.lastChange)}] = conn.lastChange
				continue
			}
			for _, e := range lex.TxEvents(conn.Shared.Dialect.LexRules(), query) {
				conn.mark(e)
			}
		}
		if len(conn.changes) != c.left || len(conn.slotlessRows) != c.slotless {
			t.Errorf("%q: %d changes and %d rows without slots are left, want %d and %d",
				c.statements, len(conn.changes), len(conn.slotlessRows), c.left, c.slotless)
		}
	}
}
