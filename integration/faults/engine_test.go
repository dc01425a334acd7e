package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// An engine is a server of this test's own, which it may kill; a cluster; or SQLite, which has none.
type engine struct {
	name  string
	nodes []*server.Instance
	at    int // the node that the application reaches
}

func dialect(engine string) string {
	if engine == "galera" {
		return "mysql"
	}
	return engine
}

func start(t *testing.T, name string) *engine {
	t.Helper()
	e := &engine{name: name}
	var err error
	switch name {
	case "galera":
		e.nodes, err = server.StartSurvivingGalera()
	case "sqlite":
	default:
		e.nodes = make([]*server.Instance, 1)
		e.nodes[0], err = server.StartSurviving(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, in := range e.nodes {
			in.Stop()
		}
	})
	return e
}

// database makes an empty database for a round, and returns the DSN of the plain driver. It goes when the round ends.
func (e *engine) database(t *testing.T, name string) string {
	t.Helper()
	if e.name == "sqlite" {
		return "file:" + filepath.Join(t.TempDir(), name) + "?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)"
	}
	e.admin(t, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		drop := "DROP DATABASE " + name
		if e.name == "postgres" {
			drop += " WITH (FORCE)"
		}
		e.admin(t, drop)
	})
	return e.direct(t, name)
}

// direct is the DSN of a database without a proxy.
func (e *engine) direct(t *testing.T, database string) string {
	t.Helper()
	dsn := e.nodes[e.at].DSN
	if e.name == "postgres" {
		return strings.Replace(dsn, "/postgres?", "/"+database+"?", 1)
	}
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.DBName = database
	return c.FormatDSN()
}

// through is the application's DSN: by the proxy, and with short times to wait for locks.
func (e *engine) through(p *proxy, database string) string {
	switch e.name {
	case "postgres":
		return "postgres://postgres@" + p.address + "/" + database + "?sslmode=disable&lock_timeout=300"
	case "galera":
		return "root@tcp(" + p.address + ")/" + database + "?innodb_lock_wait_timeout=1&wsrep_sync_wait=7"
	}
	return "root@tcp(" + p.address + ")/" + database + "?innodb_lock_wait_timeout=1"
}

// address is where the node listens.
func (e *engine) address(t *testing.T) (network, address string) {
	t.Helper()
	dsn := e.nodes[e.at].DSN
	if e.name == "postgres" {
		c, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return pgconn.NetworkAddress(c.Host, c.Port)
	}
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c.Net, c.Addr
}

// admin runs a statement in the server's administrative database.
func (e *engine) admin(t *testing.T, query string, args ...any) string {
	t.Helper()
	return e.ask(t, e.nodes[e.at].DSN, query, args...)
}

// ask runs a statement with the plain driver, in a session of its own, and returns the first value that there is.
func (e *engine) ask(t *testing.T, dsn, query string, args ...any) string {
	t.Helper()
	db, err := sql.Open(twin.Plain[dialect(e.name)], dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var value sql.NullString
	if rows.Next() {
		if err := rows.Scan(&value); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value.String
}

// open describes those of the database's sessions that are still in a transaction, or all of them.
func (e *engine) open(t *testing.T, database string, all bool) string {
	t.Helper()
	where := "p.db = '" + database + "'"
	switch {
	case e.name == "sqlite":
		return ""
	case e.name == "postgres":
		where = "datname = '" + database + "'"
		if !all {
			where += " AND state <> 'idle'"
		}
		return e.admin(t, "SELECT string_agg(concat_ws(' ', pid, state, state_change, query), '; ') FROM pg_stat_activity WHERE "+where)
	case !all:
		where += " AND x.trx_id IS NOT NULL"
	}
	return e.admin(t, "SELECT GROUP_CONCAT(CONCAT_WS(' ', p.id, p.command, p.time_ms, p.info, x.trx_state, x.trx_started, x.trx_query) SEPARATOR '; ') "+
		"FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id WHERE "+where)
}

// prepared counts the statements that are prepared on a MySQL server.
func (e *engine) prepared(t *testing.T) int64 {
	t.Helper()
	if dialect(e.name) != "mysql" {
		return 0
	}
	return number(t, e.admin(t, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'PREPARED_STMT_COUNT'"))
}

// A disk is the path of a file system in memory that can be made full; "" if there is none.
type disk string

const diskSize = 3 << 30

// fill leaves a number of bytes.
func (d disk) fill(bytes int64) error {
	for {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(string(d), &fs); err != nil {
			return err
		}
		err := d.resize(int64(fs.Blocks-fs.Bfree)*fs.Bsize + bytes)
		if !errors.Is(err, syscall.EINVAL) { // less than what is in use by now
			return err
		}
	}
}

func (d disk) resize(bytes int64) error {
	return syscall.Mount("none", string(d), "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}
