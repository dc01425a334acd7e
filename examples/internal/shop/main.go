package shop

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/slotsql/slotsql"

	_ "github.com/slotsql/slotsql/mysql"    // registers mysql-slotsql, and imports go-sql-driver/mysql
	_ "github.com/slotsql/slotsql/postgres" // registers postgres-slotsql, and imports pgx's stdlib
	_ "github.com/slotsql/slotsql/sqlite"   // registers sqlite3-slotsql, and imports modernc.org/sqlite
)

// Drivers are the plain and the wrapped one of each engine.
var Drivers = map[string][2]string{
	"sqlite": {"sqlite", "sqlite3-slotsql"}, "mysql": {"mysql", "mysql-slotsql"}, "postgres": {"pgx", "postgres-slotsql"},
}

// Opener opens the shop in a database. The driver's name is all that differs between plain and
// wrapped.
type Opener func(driver, dsn string) (Shop, *sql.DB, error)

// Main is the program of an example:
//
//	go run .
//	go run . -plain
//	go run . -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables pages, likes, products and orders; it leaves them there to look at.
func Main(open Opener) {
	engine := flag.String("driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	dsn := flag.String("dsn", "", "data source name; SQLite needs none")
	plain := flag.Bool("plain", false, "with the plain driver")
	flag.Parse()
	if err := Run(context.Background(), open, *engine, *dsn, *plain, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// Run opens the shop, through slotsql or with the plain driver, has the crowd visit it, and prints
// what came of it and, through slotsql, how its statements ran.
func Run(ctx context.Context, open Opener, engine, dsn string, plain bool, out io.Writer) (err error) {
	driver := Drivers[engine]
	if driver[0] == "" {
		return fmt.Errorf("-driver is sqlite, mysql or postgres, not %q", engine)
	}
	if dsn == "" {
		dir, err := os.MkdirTemp("", "slotsql-shop-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		dsn = "file:" + filepath.Join(dir, "shop.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	}
	if err := create(ctx, open, driver[0], dsn); err != nil {
		return err
	}
	name := driver[1]
	if plain {
		name = driver[0]
	}
	s, db, err := open(name, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := Visit(ctx, s, db, out); err != nil {
		return err
	}
	printStats(out)
	return nil
}

// create makes the shop as it was before slotsql came.
func create(ctx context.Context, open Opener, driver, dsn string) (err error) {
	s, db, err := open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := s.Create(ctx); err != nil {
		return err
	}
	return Exec(ctx, db, Rows)
}

// printStats prints how the statements on counter tables ran: nothing with the plain driver.
func printStats(out io.Writer) {
	for _, st := range slotsql.Stats() {
		fmt.Fprintf(out, "\n%s", st.Class)
		if st.Reason != "" {
			fmt.Fprintf(out, ": %s", st.Reason)
		}
		fmt.Fprintf(out, "\n  %d times: %d alone, %d grouped, %d in slots, %d drains\n", st.Statements, st.Cold, st.Grouped, st.Slotted, st.Drains)
		for _, statement := range slices.Sorted(slices.Values(st.Examples)) {
			fmt.Fprintf(out, "  %s\n", statement)
		}
	}
}
