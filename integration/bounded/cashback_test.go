package bounded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// bank is a merchant's budget, which is never overdrawn, and accounts.
func bank(t *testing.T, dialect string, budget int) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE budgets (id INT PRIMARY KEY, budget BIGINT NOT NULL)",
			fmt.Sprintf("INSERT INTO budgets VALUES (1, %d)", budget),
			"CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
			"INSERT INTO accounts VALUES (1, 0), (2, 0), (3, 0)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: adaptive}\n" +
			"tables: {budgets: {counters: {budget: {min: 0}}}, accounts: {counters: {balance: {}}}}\n",
	})
}

var errBroke = errors.New("the budget does not suffice")

// cashback pays three units from the budget to two accounts, which it names in either order.
func cashback(ctx context.Context, db *sql.DB, random *rand.Rand) (paid bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	res, err := tx.ExecContext(ctx, "UPDATE budgets SET budget = budget - 3 WHERE id = 1 AND budget >= 3")
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, errors.Join(err, errBroke)
	}
	units := []int{1, 2}
	if random.IntN(2) == 0 {
		units = []int{2, 1}
	}
	for _, n := range units {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE accounts SET balance = balance + %d WHERE id = %d", n, n)); err != nil {
			return false, err
		}
	}
	if random.IntN(10) == 0 {
		return false, nil
	}
	return true, tx.Commit()
}

// transfer has clients pay cashbacks until the budget is used up, and counts conflicts.
func transfer(t *testing.T, db *sql.DB, clients int) (paid, conflicts int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var done, failed atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(client), 14))
			for {
				ok, err := cashback(ctx, db, random)
				switch {
				case err != nil && conflict(err):
					failed.Add(1)
				case errors.Is(err, errBroke):
					return
				case err != nil:
					t.Errorf("client %d: %v", client, err)
					return
				case ok:
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return done.Load(), failed.Load()
}

// Cashbacks keep the sum of money, pay the budget out to the last unit, and are not chosen as deadlock victims
// more often than with the plain driver.
func TestCashback(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		const budget, clients = 3 * 600, 32
		p := bank(t, dialect, budget)
		_, plain := transfer(t, p.Plain, clients)
		paid, wrapped := transfer(t, p.Wrapped, clients)
		t.Logf("conflicts: %d plain, %d wrapped", plain, wrapped)
		var left string
		q := "SELECT CONCAT(budget, ' ', (SELECT SUM(balance) FROM accounts)) FROM budgets"
		if err := p.Wrapped.QueryRow(q).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("0 %d", budget); paid != budget/3 || left != want {
			t.Errorf("%d cashbacks; budget and balances are %s, want %s", paid, left, want)
		}
		if wrapped > plain+clients {
			t.Errorf("%d conflicts, and %d with the plain driver", wrapped, plain)
		}
	})
}

// What a transaction has taken from portions is there again when its connection is lost.
func TestPortionsOfALostConnection(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := store(t, dialect, "connection", 1000)
		taken := withPortion(t, p)
		id, kill := "SELECT CONNECTION_ID()", "KILL %d"
		if dialect == "postgres" {
			id, kill = "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d)"
		}
		for range 3 {
			tx := sideBySide(t, p.Wrapped, 1, 2)[0]
			var session int
			if err := tx.QueryRowContext(t.Context(), id).Scan(&session); err != nil {
				t.Fatal(err)
			}
			mustExec(t, p.Under, t.Context(), fmt.Sprintf(kill, session))
			if err := tx.Commit(); err == nil {
				t.Error("the transaction of a killed session was committed")
			}
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			n := number(t, p.Wrapped, baseStock)
			if n == 1000-taken || time.Now().After(deadline) {
				if n != 1000-taken {
					t.Errorf("%d are left, want %d", n, 1000-taken)
				}
				break
			}
		}
		rest := 1000 - taken
		if err := take(t, p.Wrapped, rest).Commit(); err != nil { // it affects one row
			t.Fatal(err)
		}
		if n := number(t, p.Wrapped, baseStock); n != 0 {
			t.Errorf("%d are left of %d", n, rest)
		}
	})
}
