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
	"runtime"
	"slices"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/examples/internal/tables"

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
//	go run . -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables pages, likes, products and orders; it drops them at the end.
func Main(open Opener) {
	engine := flag.String("driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	dsn := flag.String("dsn", "", "data source name; SQLite needs none")
	flag.Parse()
	if err := Run(context.Background(), open, *engine, *dsn, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// Run has the crowd visit the shop, with the plain driver and then through slotsql. It prints what came of
// both side by side, which must be the same, and how slotsql ran the statements.
func Run(ctx context.Context, open Opener, engine, dsn string, out io.Writer) error {
	driver := Drivers[engine]
	switch {
	case driver[0] == "":
		return fmt.Errorf("-driver is sqlite, mysql or postgres, not %q", engine)
	case dsn == "" && engine != "sqlite":
		return fmt.Errorf("-driver %s needs a -dsn", engine)
	case dsn == "":
		dir, err := os.MkdirTemp("", "slotsql-shop-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		dsn = "file:" + filepath.Join(dir, "shop.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	}
	var sides [2][]string
	for i := range sides {
		var err error
		if sides[i], err = visit(ctx, open, driver[0], driver[i], dsn); err != nil {
			return fmt.Errorf("driver %s: %w", driver[i], err)
		}
	}
	fmt.Fprintf(out, "%-40s%s\n", driver[0], driver[1])
	for i, line := range sides[0] {
		fmt.Fprintf(out, "%-40s%s\n", line, sides[1][i])
	}
	if !slices.Equal(sides[0], sides[1]) {
		return errors.New("the drivers differ")
	}
	printStats(out)
	return nil
}

// visit makes the shop as it was before slotsql came, has the crowd visit it through a driver, and drops it.
func visit(ctx context.Context, open Opener, plain, driver, dsn string) (lines []string, err error) {
	before, under, err := open(plain, dsn)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(before) // xorm closes the database of an engine that is garbage
	defer func() { err = errors.Join(err, under.Close()) }()
	if err := tables.Absent(ctx, under, "pages", "likes", "products", "orders"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, Exec(context.WithoutCancel(ctx), under, drops)) }()
	if err := before.Create(ctx); err != nil {
		return nil, err
	}
	if err := Exec(ctx, under, Rows); err != nil {
		return nil, err
	}
	s, db, err := open(driver, dsn)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(s)
	defer func() { err = errors.Join(err, db.Close()) }()
	return Visit(ctx, s, db)
}

var drops = []string{
	"DROP TABLE IF EXISTS pages_slots", "DROP TABLE IF EXISTS products_slots", "DROP TABLE IF EXISTS orders",
	"DROP TABLE IF EXISTS likes", "DROP TABLE IF EXISTS products", "DROP TABLE IF EXISTS pages",
}

// printStats prints how the statements on counter tables ran through slotsql.
func printStats(out io.Writer) {
	for _, st := range slotsql.Stats() {
		fmt.Fprintf(out, "\n%s", st.Class)
		if st.Reason != "" {
			fmt.Fprintf(out, ": %s", st.Reason)
		}
		fmt.Fprintf(out, "\n  %d times:", st.Statements)
		comma := ""
		for _, way := range []struct {
			times uint64
			name  string
		}{
			{st.Cold, "alone"}, {st.Grouped, "grouped"}, {st.Slotted, "in slots"}, {st.Drains, "drained"},
			{st.Observed, "as written"}, {st.FoldedFirst, "folded first"}, {st.Exact, "with slots added"},
		} {
			if way.times > 0 {
				fmt.Fprintf(out, "%s %d %s", comma, way.times, way.name)
				comma = ","
			}
		}
		fmt.Fprintln(out)
		for _, statement := range slices.Sorted(slices.Values(st.Examples)) {
			fmt.Fprintf(out, "  %s\n", statement)
		}
	}
}
