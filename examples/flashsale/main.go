// Command flashsale sells the stock of one product to clients that all come at once. Each orders in
// a transaction: the stock is taken by a guarded statement, and the order is written down. Some payments
// fail, which rolls the order back, and what it took is for others.
//
//	go run ./examples/flashsale
//	go run ./examples/flashsale -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables products and orders; it leaves them there to look at.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
	_ "github.com/slotsql/slotsql/sqlite"
)

const units, quantity = 100, 2

// config says that orders keep the stock at or above zero.
const config = `version: 1
auto_migrate: true
tables:
  products: {counters: {stock: {min: 0}}}
`

var drivers = map[string]string{"sqlite": "sqlite3-slotsql", "mysql": "mysql-slotsql", "postgres": "postgres-slotsql"}

func main() {
	engine := flag.String("driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	dsn := flag.String("dsn", "", "data source name; SQLite needs none")
	clients := flag.Int("clients", 16, "clients that order at once")
	flag.Parse()
	if err := run(context.Background(), *engine, *dsn, *clients, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "flashsale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, engine, dsn string, clients int, out io.Writer) (err error) {
	if dsn == "" {
		dir, err := os.MkdirTemp("", "slotsql-flashsale-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		dsn = "file:" + filepath.Join(dir, "flashsale.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_txlock=immediate"
	}
	parsed, err := slotsql.Parse([]byte(config), "flashsale.yaml")
	if err != nil {
		return err
	}
	db, err := slotsql.Open(drivers[engine], dsn, slotsql.WithConfig(parsed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, q := range []string{
		"CREATE TABLE products (id INT PRIMARY KEY, stock INT NOT NULL)",
		"CREATE TABLE orders (client INT NOT NULL, number INT NOT NULL, quantity INT NOT NULL, PRIMARY KEY (client, number))",
		fmt.Sprintf("INSERT INTO products VALUES (1, %d)", units),
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	var taken, refused atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for client := range clients {
		wg.Go(func() {
			for number := 0; ; number++ {
				ok, err := order(ctx, db, client, number)
				switch {
				case err != nil:
					errs <- err
					return
				case !ok:
					refused.Add(1)
					return
				}
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return report(ctx, db, out, taken.Load(), refused.Load())
}

// order takes units and writes that down; false where there are not as many.
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
func report(ctx context.Context, db *sql.DB, out io.Writer, tried, refused int64) error {
	var left, sold int
	if err := db.QueryRowContext(ctx, "SELECT stock FROM products WHERE id = 1").Scan(&left); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(SUM(quantity), 0) FROM orders").Scan(&sold); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d units, %d sold, %d left; %d orders begun, %d clients refused\n", units, sold, left, tried, refused)
	if left < 0 || sold+left != units {
		return fmt.Errorf("%d sold and %d left of %d units", sold, left, units)
	}
	return nil
}
