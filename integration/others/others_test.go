// Package others holds the tests of docs/others.md: what programs see that read a counter table, or its log, without slotsql.
package others

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// A service counts visits of a post, each in the transaction that records it: their numbers are equal in every state of
// the database that a transaction could see. Each of its counts goes to a slot.
type service struct {
	dialect, dsn string
	connector    *slotsql.Connector
	db, plain    *sql.DB
}

// views is the total as programs without slotsql read it, and base what the counter table itself has.
const (
	views  = "SELECT views FROM posts_totals WHERE id = 1"
	base   = "SELECT views FROM posts WHERE id = 1"
	visits = "SELECT COUNT(*) FROM visits"
)

// schema makes the tables without what slotsql adds to them.
var schema = []string{
	"CREATE TABLE posts (id BIGINT PRIMARY KEY, title VARCHAR(20), views BIGINT NOT NULL DEFAULT 0)",
	"CREATE TABLE visits (id BIGINT PRIMARY KEY, post_id BIGINT NOT NULL)",
	"INSERT INTO posts VALUES (1, 'one', 0), (2, 'two', 0)",
}

func serve(t *testing.T, dialect, dsn, options string) *service {
	t.Helper()
	twin.Serves(t, dialect)
	config, err := slotsql.Parse([]byte(
		"version: 1\nauto_migrate: true\ntables: {posts: {slots: 4, placement: connection, counters: {views: {}}"+options+"}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{dialect: dialect, dsn: dsn, plain: open(t, dialect, dsn)}
	twin.ExecAll(t, s.plain, schema...)
	if s.connector, err = slotsql.OpenConnector(twin.Wrapped[dialect], dsn, slotsql.WithConfig(config)); err != nil {
		t.Fatal(err)
	}
	s.db = sql.OpenDB(s.connector)
	t.Cleanup(func() { _ = s.db.Close() })
	if err := s.db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := slotsql.MigrateStored(t.Context(), s.connector, slotsql.Stored{Views: true, Functions: dialect != "sqlite"}); err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, dialect, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(twin.Plain[dialect], dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// visit counts one visit.
func (s *service) visit(ctx context.Context, id int) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left of it after the commit
	if _, err := tx.ExecContext(ctx, twin.Placeholders(s.dialect, "INSERT INTO visits VALUES (?, 1)"), id); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *service) visits(t *testing.T, from, to int) {
	t.Helper()
	for id := from; id < to; id++ {
		if err := s.visit(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// during runs something while clients count, and slots are rolled up.
func (s *service) during(t *testing.T, do func()) {
	t.Helper()
	stop, wg := make(chan struct{}), sync.WaitGroup{}
	repeat := func(f func(i int) error) {
		started := make(chan struct{})
		wg.Go(func() {
			for i := 0; ; i++ {
				err := f(i)
				if i == 0 {
					close(started)
				}
				select {
				case <-stop:
					return
				default:
				}
				if err != nil && !twin.Retryable(err) {
					t.Error(err)
					return
				}
			}
		})
		<-started
	}
	for client := range 3 {
		repeat(func(i int) error { return s.visit(context.WithoutCancel(t.Context()), 1000000*(client+1)+i) })
	}
	repeat(func(int) error { return s.rollUp(context.WithoutCancel(t.Context())) })
	do()
	close(stop)
	wg.Wait()
}

func (s *service) rollUp(ctx context.Context) error {
	_, err := slotsql.RollUp(ctx, s.connector, slotsql.RollUpOptions{})
	return err
}

// moved rolls up, so that base values are the totals.
func (s *service) moved(t *testing.T) {
	t.Helper()
	if err := s.rollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, s.plain, base, twin.Rows(t, s.plain, visits))
}

func want(t *testing.T, db twin.Querier, query, want string) {
	t.Helper()
	if got := twin.Rows(t, db, query); got != want {
		t.Errorf("%s: %s, not %s", query, got, want)
	}
}

// whole checks a copy, whatever of it was there when it was made.
func whole(t *testing.T, db *sql.DB) {
	t.Helper()
	got := strings.Fields(twin.Rows(t, db, "SELECT ("+views+"), ("+visits+")"))
	if len(got) != 2 || got[0] != got[1] || got[0] == "0" {
		t.Errorf("views and visits of a copy: %v", got)
	}
}

// client is the command of a client program of MariaDB that connects to the database.
func client(t *testing.T, dsn, program string, more ...string) []string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{program, "--no-defaults", "--user=" + c.User, "--socket=" + c.Addr}, more...)
}

// database is the name of a database of MariaDB.
func database(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c.DBName
}

// copied returns a dump of the whole database, or of one table, restored in a new database.
func (s *service) copied(t *testing.T, tables ...string) *sql.DB {
	t.Helper()
	to := server.Logged(t, s.dialect)
	switch s.dialect {
	case "postgres":
		var only []string
		for _, table := range tables {
			only = append(only, "--table="+table)
		}
		psql(t, to, s.dump(t, only...))
	case "mysql":
		dump := client(t, s.dsn, "mariadb-dump", append([]string{"--single-transaction", "--routines", database(t, s.dsn)}, tables...)...)
		server.Run(t, server.Run(t, "", dump...), client(t, to, "mariadb", database(t, to))...)
	}
	return open(t, s.dialect, to)
}

// dump returns what pg_dump prints.
func (s *service) dump(t *testing.T, flags ...string) string {
	t.Helper()
	return server.Run(t, "", append([]string{"pg_dump", "--no-publications", "--dbname=" + s.dsn}, flags...)...)
}

func psql(t *testing.T, dsn, input string, flags ...string) string {
	t.Helper()
	return server.Run(t, input, append([]string{"psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname=" + dsn}, flags...)...)
}
