// Command orms runs the small shop of the examples with an ORM, through slotsql or with the plain
// driver, and prints what came of it and, through slotsql, how its statements ran.
//
//	go run . gorm
//	go run . -plain gorm
//	go run . -driver postgres -dsn 'postgres://user:password@localhost/test' ent
//
// Without a DSN it uses a SQLite file in a temporary directory. A database that it is given must
// have no tables pages, likes, products and orders; it leaves them there to look at.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/examples/orms/bun"
	"github.com/slotsql/slotsql/examples/orms/ent"
	"github.com/slotsql/slotsql/examples/orms/gorm"
	"github.com/slotsql/slotsql/examples/orms/shop"
	"github.com/slotsql/slotsql/examples/orms/sqlc"
	"github.com/slotsql/slotsql/examples/orms/sqlx"
	"github.com/slotsql/slotsql/examples/orms/xorm"

	_ "github.com/slotsql/slotsql/mysql"    // registers mysql-slotsql, and imports go-sql-driver/mysql
	_ "github.com/slotsql/slotsql/postgres" // registers postgres-slotsql, and imports pgx's stdlib
	_ "github.com/slotsql/slotsql/sqlite"   // registers sqlite3-slotsql, and imports modernc.org/sqlite
)

var orms = map[string]func(driver, dsn string) (shop.Shop, error){
	"gorm": gorm.Open, "sqlx": sqlx.Open, "ent": ent.Open, "bun": bun.Open, "xorm": xorm.Open, "sqlc": sqlc.Open,
}

// drivers are the plain and the wrapped one of each engine.
var drivers = map[string][2]string{
	"sqlite": {"sqlite", "sqlite3-slotsql"}, "mysql": {"mysql", "mysql-slotsql"}, "postgres": {"pgx", "postgres-slotsql"},
}

func main() {
	engine := flag.String("driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	dsn := flag.String("dsn", "", "data source name; SQLite needs none")
	plain := flag.Bool("plain", false, "with the plain driver")
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), *engine, *dsn, *plain, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "orms:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, orm, engine, dsn string, plain bool, out io.Writer) (err error) {
	open, driver := orms[orm], drivers[engine]
	if open == nil || driver[0] == "" {
		return fmt.Errorf("name one of %v, and -driver sqlite, mysql or postgres", slices.Sorted(maps.Keys(orms)))
	}
	if dsn == "" {
		dir, err := os.MkdirTemp("", "slotsql-orms-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		dsn = "file:" + filepath.Join(dir, "shop.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	}
	name := driver[1]
	if plain {
		name = driver[0]
	}
	s, err := open(name, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Create(ctx); err != nil {
		return err
	}
	if err := shop.Visit(ctx, s, out); err != nil {
		return err
	}
	printStats(out)
	return nil
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
