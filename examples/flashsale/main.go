// Command flashsale sells the stock of one product to clients that all come at once. Each orders in
// a transaction: the stock is taken by a guarded statement, and the order is inserted. Some payments
// fail, which rolls the order back, and what it took is for others.
//
//	go run ./examples/flashsale
//	go run ./examples/flashsale -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables products and orders; it drops them at the end.
package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/slotsql/slotsql/examples/internal/crowd"
)

const units, quantity = 100, 2

// config says that orders keep the stock at or above zero.
const config = `version: 1
auto_migrate: true
tables:
  products: {counters: {stock: {min: 0}}}
`

var example = crowd.Example{
	Name:   "flashsale",
	Config: config,
	Schema: []string{
		"CREATE TABLE products (id INT PRIMARY KEY, stock INT NOT NULL)",
		"CREATE TABLE orders (client INT NOT NULL, number INT NOT NULL, quantity INT NOT NULL, PRIMARY KEY (client, number))",
		fmt.Sprintf("INSERT INTO products VALUES (1, %d)", units),
	},
	Tables: []string{"orders", "products"},
	Right:  "A client comes back until it is refused, which is right when every unit is\nsold. Units of an order that is rolled back go to the next who asks.",
	Take:   order,
	Report: report,
}

func main() { crowd.Main(example) }

// order takes units and inserts the order; it reports false if there are too few.
func order(ctx context.Context, db *sql.DB, client, number int) (bool, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	take := fmt.Sprintf("UPDATE products SET stock = stock - %d WHERE id = 1 AND stock >= %d", quantity, quantity)
	res, err := tx.ExecContext(ctx, take)
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders VALUES (%d, %d, %d)", client, number, quantity)); err != nil {
		return false, err
	}
	if number%5 == 4 { // the payment fails: the units are there again
		return true, tx.Rollback()
	}
	return true, tx.Commit()
}

// report compares the stock with the orders.
func report(ctx context.Context, db *sql.DB, o crowd.Outcome) ([]crowd.Line, error) {
	var left, sold int64
	if err := db.QueryRowContext(ctx, "SELECT stock FROM products WHERE id = 1").Scan(&left); err != nil {
		return nil, err
	}
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(SUM(quantity), 0) FROM orders").Scan(&sold); err != nil {
		return nil, err
	}
	if left < 0 || sold+left != units {
		return nil, fmt.Errorf("%d sold and %d left of %d units", sold, left, units)
	}
	return []crowd.Line{
		{What: "units", Count: units},
		{What: "units ordered", Count: quantity * o.Taken},
		{What: "- given back: the payment failed", Count: quantity*o.Taken - sold},
		{What: "= sold", Count: sold},
		{What: "left", Count: left},
		{What: "clients refused", Count: o.Refused},
	}, nil
}
