package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

// Engine is one database engine: how to open it, and the SQL that differs
// from one engine to another.
type Engine struct {
	Name    string          // as in --driver
	dialect dialect.Dialect // for slotsql
	network bool            // there is a network between client and engine

	// open returns the parent driver's connector; dial, when not nil, makes
	// its network connections.
	open func(dsn string, dial dialFunc) (driver.Connector, error)
	// address names the server, without user and password.
	address func(dsn string) string
	// embedded returns the DSN of a new database in a directory; nil where an
	// engine needs a server.
	embedded func(dir string) string

	numbered bool   // placeholders are $1, $2
	table    string // what ends a CREATE TABLE
	serial   string // a primary key that numbers itself

	// locking returns the DSN of connections whose transactions hold their
	// lock from the beginning; nil where forUpdate locks.
	locking   func(dsn string) string
	forUpdate string

	addToSlot  string                // the conflict clause of an upsert; %s is the table
	skipLocked *skipLockedStatements // nil where there is no SKIP LOCKED
	like       string                // lists tables whose name matches LIKE ?
	version    string                // a query
	settings   []settingQuery        // what a commit costs
}

// settingQuery reads one setting of the server.
type settingQuery struct{ name, query string }

// skipLockedStatements increment an unlocked slot; %s is the slot table. With a
// choose text that is two statements in a transaction, else one.
type skipLockedStatements struct {
	choose string // key -> slot
	add    string // key, slot; or without choose: key, key
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Engines returns the engines that a benchmark can run on.
func Engines() []*Engine { return []*Engine{mysqlEngine(), postgresEngine(), sqliteEngine()} }

// EngineOf returns the engine of a --driver, or nil.
func EngineOf(name string) *Engine {
	for _, e := range Engines() {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// q writes a statement's placeholders as the engine wants them.
func (e *Engine) q(query string) string {
	if !e.numbered {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// pool opens a pool of exactly so many connections.
func pool(c driver.Connector, clients int) *sql.DB {
	db := sql.OpenDB(c)
	limit(db, clients)
	return db
}

func limit(db *sql.DB, clients int) {
	db.SetMaxOpenConns(clients)
	db.SetMaxIdleConns(clients)
}

// connectAll opens a pool's connections, so that opening them is not measured.
func connectAll(ctx context.Context, db *sql.DB, n int) (err error) {
	conns := make([]*sql.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			if e := c.Close(); err == nil {
				err = e
			}
		}
	}()
	for range n {
		c, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", len(conns)+1, n, err)
		}
		conns = append(conns, c)
	}
	return nil
}

// HasNetwork reports whether there is a network, whose round trip can be varied.
func (e *Engine) HasNetwork() bool { return e.network }
