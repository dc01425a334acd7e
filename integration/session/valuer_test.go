package session

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// cents is an amount of money that its driver is given as a decimal number. pgx gets it as it is, and asks for its value.
type cents int64

func (c cents) Value() (driver.Value, error) { return fmt.Sprintf("%d.%02d", c/100, c%100), nil }

// What an argument's method makes of it is added, and demanded, by executions that overlap as by those that run alone.
func TestValuersOverlap(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		for name, options := range map[string]string{
			"base": "slots: 0", "slots": "slots: 8, placement: connection", "adaptive": "slots: 8, placement: adaptive",
		} {
			t.Run(name, func(t *testing.T) {
				p := twin.New(t, twin.Options{
					Dialect: dialect,
					Schema: []string{
						"CREATE TABLE accounts (id INT PRIMARY KEY, balance DECIMAL(12, 2) NOT NULL)",
						"INSERT INTO accounts VALUES (1, 0), (2, 20)",
					},
					Config: "version: 1\nauto_migrate: true\ntables: {accounts: {counters: {balance: {}}, " + options + "}}\n",
				})
				const each = 25
				p.Wrapped.SetMaxOpenConns(clients)
				p.Wrapped.SetMaxIdleConns(clients)
				add := "UPDATE accounts SET balance = balance + ? WHERE id = ?"
				take := "UPDATE accounts SET balance = balance - ? WHERE id = ? AND balance >= ?"
				if dialect == "postgres" {
					add, take = dollars(add), dollars(take)
				}
				crowd(t, each, func(ctx context.Context, _, _ int) error {
					if _, err := p.Wrapped.ExecContext(ctx, add, cents(25), 1); err != nil {
						return err
					}
					_, err := p.Wrapped.ExecContext(ctx, take, cents(25), 2, cents(25))
					return err
				})
				for id, want := range map[int]float64{1: clients * each * 0.25, 2: 0} {
					var got float64
					if err := p.Wrapped.QueryRow(fmt.Sprintf("SELECT balance FROM accounts WHERE id = %d", id)).Scan(&got); err != nil || got != want {
						t.Errorf("account %d has %g, want %g (%v)", id, got, want, err)
					}
				}
			})
		}
	})
}
