// Package server gives tests real databases: a fresh, empty one per test on a
// throwaway MariaDB or PostgreSQL instance, and a SQLite file.
//
// The instance is private: own data directory, in memory where there is room,
// own unix socket, no TCP port, no configuration file of the machine. It is
// started on first use, shared by all tests of one process, and it ends with
// that process, however that ends: a small shell holds the server and a pipe,
// and stops the server and removes its files when the pipe breaks.
//
// [EnvMySQL] and [EnvPostgres], when set, name servers to use instead; on
// these databases are created and dropped, and nothing else is touched. The
// command cmd/testservers starts both servers once for a whole `go test ./...`
// and hands them over in this way.
//
// A missing server fails the test; it never skips it.
package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The environment variables that name servers to use instead of throwaway
// ones: a DSN of github.com/go-sql-driver/mysql, and a URL or keyword string
// for github.com/jackc/pgx. The user must be allowed to create and drop
// databases. The database in the DSN is replaced by each test's own.
const (
	EnvMySQL    = "SLOTSQL_TEST_MYSQL_DSN"
	EnvPostgres = "SLOTSQL_TEST_POSTGRES_DSN"
)

// EnvDurable, when set, has throwaway servers write each commit to the disk
// before they acknowledge it, as servers do by default: for benchmarks. Tests
// need no durability, and are faster without.
const EnvDurable = "SLOTSQL_TEST_DURABLE"

// Durable reports whether EnvDurable is set.
func Durable() bool { return os.Getenv(EnvDurable) != "" }

// engine is one database server program.
type engine struct {
	name   string // for messages
	env    string
	driver string // of database/sql
	find   func() (layout, error)

	revives bool // the server is started again whenever it ends

	withDatabase func(dsn, database string) (string, error)
	create       func(ctx context.Context, admin *sql.DB, database string) error
	drop         func(ctx context.Context, admin *sql.DB, database string) error

	once  sync.Once
	dsn   string
	admin *sql.DB
	err   error
}

// MariaDB returns the DSN of a new database, which lives as long as the test.
// The DSN has no parameters of its own.
func MariaDB(t testing.TB) string {
	t.Helper()
	return mariadb.fresh(t)
}

// Postgres returns the DSN of a new database, which lives as long as the test.
func Postgres(t testing.TB) string {
	t.Helper()
	return postgres.fresh(t)
}

// SQLite returns the DSN, for modernc.org/sqlite, of a new file that lives as
// long as the test, with write-ahead logging and a busy timeout of 60 s.
func SQLite(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if inMemory() {
		var err error
		if dir, err = os.MkdirTemp(memory, "slotsql-sqlite-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			err := os.RemoveAll(dir)
			for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = os.RemoveAll(dir) {
				time.Sleep(10 * time.Millisecond) // a connection that ends has made a file meanwhile
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	return "file:" + filepath.Join(dir, "test.db") +
		"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
}

func (e *engine) fresh(t testing.TB) string {
	t.Helper()
	dsn, drop, err := e.database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // the test's is over
		defer cancel()
		if err := drop(ctx); err != nil {
			t.Errorf("%s: drop database: %v", e.name, err)
		}
	})
	return dsn
}

// New returns the DSN of a new database of an engine, mysql or postgres, and what drops it, for programs that are no
// tests. The server ends with the program, unless the environment names one.
func New(ctx context.Context, engine string) (dsn string, drop func(context.Context) error, err error) {
	if engine == "mysql" {
		return mariadb.database(ctx)
	}
	return postgres.database(ctx)
}

func (e *engine) database(ctx context.Context) (dsn string, drop func(context.Context) error, err error) {
	e.once.Do(e.open)
	if e.err != nil {
		return "", nil, e.err
	}
	name := databaseName()
	if dsn, err = e.withDatabase(e.dsn, name); err != nil {
		return "", nil, err
	}
	if err := e.create(ctx, e.admin, name); err != nil {
		return "", nil, fmt.Errorf("%s: create database: %w", e.name, err)
	}
	return dsn, func(ctx context.Context) error { return e.drop(ctx, e.admin, name) }, nil
}

// open finds or starts the server. The instance is not kept: it ends with the
// process.
func (e *engine) open() {
	e.dsn = os.Getenv(e.env)
	if e.dsn == "" {
		in, err := e.start()
		if err != nil {
			e.err = err
			return
		}
		e.dsn = in.DSN
	}
	e.admin, e.err = sql.Open(e.driver, e.dsn)
	if e.err == nil {
		// Few idle connections: each test process has its own.
		e.admin.SetMaxIdleConns(1)
	}
}

func databaseName() string {
	var b [8]byte
	rand.Read(b[:])
	return "slotsql_" + hex.EncodeToString(b[:]) + "_db" // not a letter and digits, as names in rewritten SQL are
}

// SQLiteSeries is a source of numbers, AS s with a column n.
func SQLiteSeries(from, to string) string {
	return "(WITH RECURSIVE r(n) AS (SELECT " + from + " UNION ALL SELECT n + 1 FROM r WHERE n < " + to + ") SELECT n FROM r) AS s"
}
