package session

import (
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// A string that is added to a column is a floating-point number to MySQL and MariaDB. In a slot, in a group and on a base row beside
// slots it adds what plain adds.
func TestStringAddedToDecimal(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		for name, options := range map[string]string{
			"groups": "slots: 0", "slots": "slots: 8, placement: connection", "adaptive": "slots: 8, placement: adaptive",
		} {
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE accounts (id INT PRIMARY KEY, amount DECIMAL(27, 18) NOT NULL, cents DECIMAL(15, 2) NOT NULL)",
						"INSERT INTO accounts VALUES (1, 0, 0), (2, 0.1, 0.1), (3, 1000000.7, 1000000.7)",
					},
					Config: "version: 1\nauto_migrate: true\ntables: {accounts: {counters: {amount: {}, cents: {}}, " + options + "}}\n",
				})
				conflict := "ON CONFLICT (id) DO UPDATE SET amount = accounts.amount + "
				excluded := "excluded.amount"
				if dialect == "mysql" {
					conflict, excluded = "ON DUPLICATE KEY UPDATE amount = amount + ", "VALUES(amount)"
				}
				list := []twin.Statement{
					{SQL: "UPDATE accounts SET amount = amount + ? WHERE id = 1", Args: []any{"1.123"}},
					{SQL: "UPDATE accounts SET amount = amount + ? WHERE id = 1", Args: []any{"1.123"}, Prepared: true},
					{SQL: "UPDATE accounts SET cents = cents + ? WHERE id = 1", Args: []any{"1.12"}},
					{SQL: "UPDATE accounts SET amount = amount - ?, cents = cents + ? WHERE id = 2", Args: []any{"0.000000000000000007", "0.01"}},
					{SQL: "UPDATE accounts SET amount = amount + ? WHERE id IN (1, 3)", Args: []any{"0.3"}},
					{SQL: "UPDATE accounts SET amount = amount + ? WHERE id = 3", Args: []any{int64(7)}},
					{SQL: "UPDATE accounts SET amount = amount + 1.123 WHERE id = 3"},
					{SQL: "INSERT INTO accounts VALUES (1, ?, 0) " + conflict + "?", Args: []any{"1.123", "1.123"}},
					{SQL: "INSERT INTO accounts VALUES (1, ?, 0) " + conflict + excluded, Args: []any{"1.123"}},
				}
				for range 3 {
					for _, s := range list {
						if dialect == "postgres" {
							s.SQL = dollars(s.SQL)
						}
						p.Same(t, s)
						p.Same(t, twin.Statement{SQL: "SELECT id, amount, cents FROM accounts ORDER BY id"})
					}
				}
			})
		}
	})
}
