package postgres

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// onlyTable is a catalog of one table.
type onlyTable struct{ *schema.Table }

func (c onlyTable) Counters() []*schema.Table { return []*schema.Table{c.Table} }

func (c onlyTable) Lookup(name []ast.Ident) (*schema.Table, bool) {
	if name[len(name)-1].Name == c.Name {
		return c.Table, true
	}
	return nil, true
}

// confirmOf returns the query that confirms a statement, or "".
func confirmOf(t *testing.T, table *schema.Table, query string) string {
	t.Helper()
	plan, err := (&rewrite.Planner{Dialect: New(), Catalog: onlyTable{table}}).Plan(query)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Drain.Proof == nil {
		return ""
	}
	for _, b := range []*rewrite.Bound{plan.Drain.Proof.Confirm, plan.Drain.Proof.ConfirmRead} {
		if b != nil {
			return b.SQL.Of(nil)
		}
	}
	return ""
}

// The query that confirms a statement which has run as it is fails unless that has changed the row, the row has no slots,
// and the query's snapshot is newer than the statement's lock.
func TestConfirm(t *testing.T) {
	open := database(t, "CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))", "INSERT INTO stock VALUES (1, 5, ''), (2, 500, '')")
	s := open()
	table := s.counter("stock", []string{"id"}, 8, "n")
	s.migrate(table)
	confirm := confirmOf(t, table, "UPDATE stock SET n = 7 WHERE id = 1")
	const update = "UPDATE stock SET n = 7 WHERE id = 1"
	over := Over{Fault: func(err error) (Fault, bool) { return Fault{Code: state(err)}, true }}
	for name, c := range map[string]struct {
		before []string
		holds  bool
	}{
		"changed":                  {[]string{update}, true},
		"nothing":                  {nil, false},
		"another row":              {[]string{"UPDATE stock SET n = 7 WHERE id = 2"}, false},
		"only locked":              {[]string{"SELECT 1 FROM stock WHERE id = 1 FOR UPDATE"}, false},
		"with a slot":              {[]string{"INSERT INTO stock_slots (id, slot, n) VALUES (1, 0, 3)", update}, false},
		"with a slot of another":   {[]string{"INSERT INTO stock_slots (id, slot, n) VALUES (2, 0, 3)", update}, true},
		"not changed, with a slot": {[]string{"INSERT INTO stock_slots (id, slot, n) VALUES (1, 0, 3)"}, false},
		"deleted":                  {[]string{"DELETE FROM stock WHERE id = 1"}, false},
		"repeatable read":          {[]string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", update}, false},
		"serializable":             {[]string{"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", update}, false},
	} {
		s.exec("BEGIN")
		s.run(c.before...)
		switch _, err := s.try(confirm); {
		case (err == nil) != c.holds:
			t.Errorf("%s: %v, want confirmed: %v", name, err, c.holds)
		case err != nil && !strings.Contains(err.Error(), "the row may have slots"):
			t.Errorf("%s: %v", name, err)
		case err != nil && !over.Classify(err).Has(dialect.Refuted):
			t.Errorf("%s: the error is not recognized: %v", name, err)
		}
		s.exec("ROLLBACK")
	}
}

// Only an UPDATE that leaves its row where it is, that a rollback undoes entirely, and whose lock keeps increments out, can be
// confirmed; and a locking read that gives the same when it runs again, and does not fail for a base value.
func TestConfirmed(t *testing.T) {
	s := database(t, "CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40) UNIQUE)", "CREATE SEQUENCE s")()
	table := s.counter("stock", []string{"id"}, 8, "n")
	for query, want := range map[string]bool{
		"UPDATE stock SET n = 7 WHERE id = 1":                            true,
		"UPDATE stock SET n = n - 1 WHERE id = 1 AND n >= 1 RETURNING n": true,
		"UPDATE stock SET n = $1, note = $2 WHERE id = $3":               true,
		"UPDATE stock SET n = 7 WHERE note = 'x'":                        true,
		"UPDATE stock SET n = 7, note = 'y' WHERE note = 'x'":            false,
		"UPDATE stock SET n = 7, id = 9 WHERE id = 1":                    false,
		"UPDATE stock SET n = 7, note = nextval('s') WHERE id = 1":       false,
		"UPDATE stock SET n = 7, note = DEFAULT WHERE id = 1":            false,
		"UPDATE stock SET n = 7 WHERE id = 1 RETURNING n, nextval('s')":  false,
		"DELETE FROM stock WHERE id = 1":                                 false,
		"SELECT n FROM stock WHERE id = 1 FOR UPDATE":                    true,
		"SELECT * FROM stock WHERE id = 1 AND n > 3 FOR UPDATE":          true,
		"SELECT note || 'x' FROM stock WHERE id = 1 FOR NO KEY UPDATE":   false, // it needs no drain
		"SELECT n FROM stock WHERE id = 1 FOR SHARE":                     false,
		"SELECT 100 / n FROM stock WHERE id = 1 FOR UPDATE":              false,
		"SELECT n FROM stock WHERE id = 1 AND 9 / n > 1 FOR UPDATE":      false,
		"SELECT n, nextval('s') FROM stock WHERE id = 1 FOR UPDATE":      false,
	} {
		if got := confirmOf(t, table, query) != ""; got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	table.Counter.Layout = schema.LayoutJournal // increments there lock FOR KEY SHARE, which an UPDATE lets pass
	for query, want := range map[string]bool{
		"UPDATE stock SET n = 7 WHERE id = 1":                false,
		"SELECT n FROM stock WHERE id = 1 FOR NO KEY UPDATE": false,
		"SELECT n FROM stock WHERE id = 1 FOR UPDATE":        true,
	} {
		if got := confirmOf(t, table, query) != ""; got != want {
			t.Errorf("in a journal, %s: %v, want %v", query, got, want)
		}
	}
}
