// Command forum runs a small forum with the plain driver and then with slotsql's: visitors read topics, see the front
// page and post, all at once.
//
//	go run ./examples/forum
//	go run ./examples/forum -hot 1
//	go run ./examples/forum -driver postgres -dsn 'postgres://user:password@localhost/test'
//
// Without a DSN it uses SQLite files in a temporary directory. A database that it is given must have no tables topics,
// posts, notices and users; it drops them at the end.
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
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/examples/forum/forum"
	"github.com/slotsql/slotsql/examples/internal/tables"
	_ "github.com/slotsql/slotsql/mysql"
	_ "github.com/slotsql/slotsql/postgres"
	_ "github.com/slotsql/slotsql/sqlite"
)

type options struct {
	engine, dsn  string
	clients, hot int
	companions   bool
	duration     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.engine, "driver", "sqlite", "sqlite, mysql (MariaDB, too) or postgres")
	flag.StringVar(&o.dsn, "dsn", "", "data source name; SQLite needs none")
	flag.IntVar(&o.clients, "clients", 16, "visitors at once")
	flag.IntVar(&o.hot, "hot", 0, "so many topics take nine of ten visits; 0: none is hot")
	flag.BoolVar(&o.companions, "companions", false, "declare last_post_at as a companion")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "of each run")
	flag.Parse()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "forum:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	plain := map[string]string{"sqlite": "sqlite", "mysql": "mysql", "postgres": "pgx"}[o.engine]
	wrapped := map[string]string{"sqlite": "sqlite3-slotsql", "mysql": "mysql-slotsql", "postgres": "postgres-slotsql"}[o.engine]
	switch {
	case plain == "":
		return fmt.Errorf("-driver is sqlite, mysql or postgres, not %q", o.engine)
	case o.dsn == "" && o.engine != "sqlite":
		return fmt.Errorf("-driver %s needs a -dsn", o.engine)
	}
	config, err := slotsql.Parse([]byte(forum.Config("", o.companions)), "slotsql.yaml")
	if err != nil {
		return err
	}
	openPlain := func(dsn string) (*sql.DB, error) { return sql.Open(plain, dsn) }
	if err := o.visit(ctx, out, "plain", openPlain, openPlain); err != nil {
		return err
	}
	return o.visit(ctx, out, "slotsql", openPlain, func(dsn string) (*sql.DB, error) {
		return slotsql.Open(wrapped, dsn, slotsql.WithConfig(config))
	})
}

// visit makes the tables, has the visitors come for a while, and prints how much they got done.
func (o options) visit(ctx context.Context, out io.Writer, name string, openPlain, open func(dsn string) (*sql.DB, error)) (err error) {
	dsn := o.dsn
	if dsn == "" {
		dir, err := os.MkdirTemp("", "slotsql-forum-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		dsn = "file:" + filepath.Join(dir, "forum.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_txlock=immediate"
	}
	under, err := openPlain(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, under.Close()) }()
	if err := tables.Absent(ctx, under, forum.Tables...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, forum.Drop(ctx, under)) }()
	for _, q := range forum.Schema(o.engine) {
		if _, err := under.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	db, err := open(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxIdleConns(o.clients)
	if err := db.PingContext(ctx); err != nil { // makes the slot tables, before the time begins
		return err
	}
	f := forum.New(db, o.engine)
	var visits atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, o.clients)
	start := time.Now()
	for i := range o.clients {
		wg.Go(func() {
			for errs[i] == nil && time.Since(start) < o.duration {
				errs[i] = f.Visit(ctx, forum.Crowd{Hot: o.hot})
				visits.Add(1)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	perSecond := float64(visits.Load()) / time.Since(start).Seconds()
	views, posts := f.Counts()
	fmt.Fprintf(out, "%-8s%7.0f visits a second: %d views + %d posts + %d front pages\n", name, perSecond, views, posts, visits.Load()-views-posts)
	return f.Check(ctx)
}
