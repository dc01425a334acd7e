package session

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// trips counts the round trips of all connections that are made through it, apart from those
// by which slotsql's own sessions get ready for the next question.
type trips struct {
	n    atomic.Int64
	mu   sync.Mutex
	sent []string // for the message of a test that fails
}

// statements are what was sent so far; slotsql's own sessions may be sending.
func (c *trips) statements() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

func (c *trips) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &tripConn{Conn: conn, of: c}, nil
}

// tripConn is one connection: what is written before something is read is one round trip.
type tripConn struct {
	net.Conn
	of      *trips
	pending []byte
}

func (c *tripConn) Write(b []byte) (int, error) {
	c.pending = append(c.pending, b...)
	return c.Conn.Write(b)
}

func (c *tripConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && len(c.pending) > 0 {
		if !bytes.Contains(c.pending, []byte("START TRANSACTION READ WRITE")) && !bytes.HasSuffix(c.pending, []byte("ROLLBACK")) {
			c.of.n.Add(1)
			c.of.mu.Lock()
			c.of.sent = append(c.of.sent, string(c.pending))
			c.of.mu.Unlock()
		}
		c.pending = nil
	}
	return n, err
}

var dialers atomic.Int64

// through returns a data source whose connections are counted.
func (c *trips) through(t *testing.T, dialect, dsn string) string {
	t.Helper()
	if dialect == "mysql" {
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		network := cfg.Net
		cfg.Net = fmt.Sprintf("trips%d", dialers.Add(1))
		mysql.RegisterDialContext(cfg.Net, func(ctx context.Context, addr string) (net.Conn, error) { return c.dial(ctx, network, addr) })
		return cfg.FormatDSN()
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = c.dial
	name := stdlib.RegisterConnConfig(cfg)
	t.Cleanup(func() { stdlib.UnregisterConnConfig(name) })
	return name
}

// coldCase is a statement in a transaction, behind others.
type coldCase struct {
	before    []string
	statement string
	// beyond is how many round trips the wrapped driver may take beyond the plain one, on PostgreSQL, there
	// at levels that have a snapshot, where another session is asked what is newer, and on MySQL, where another
	// session is asked for slots.
	beyond, snapshot, mysql int64
}

var coldCases = map[string]coldCase{
	"set":       {nil, "UPDATE stock SET n = 7 WHERE id = ?", 1, 3, 2},
	"save":      {nil, "UPDATE stock SET n = 7, note = 'x' WHERE id = ?", 1, 3, 2},
	"guard":     {nil, "UPDATE stock SET n = n - 1 WHERE id = ? AND n >= 1", 1, 3, 2},
	"lock":      {nil, "SELECT n FROM stock WHERE id = ? FOR UPDATE", 1, 3, 1},
	"delete":    {nil, "DELETE FROM stock WHERE id = ? AND n < 9", 1, 3, 2},
	"read":      {[]string{"UPDATE stock SET n = n + 1 WHERE id = ?"}, "SELECT n FROM stock WHERE id = ?", 0, 3, 0},
	"change":    {[]string{"UPDATE stock SET note = 'x' WHERE id = ?"}, "SELECT n FROM stock WHERE id = ?", 0, 3, 0},
	"increment": {[]string{"SELECT n FROM stock WHERE id = ? FOR UPDATE"}, "UPDATE stock SET n = n + 1 WHERE id = ?", 0, 0, 0},
	"lock-set":  {[]string{"SELECT n FROM stock WHERE id = ? FOR UPDATE"}, "UPDATE stock SET n = 7 WHERE id = ?", 0, 0, 0},
	"set-lock":  {[]string{"UPDATE stock SET n = 7 WHERE id = ?"}, "SELECT n FROM stock WHERE id = ? FOR UPDATE", 0, 0, 0},
	"increment-read": {
		[]string{"SELECT n FROM stock WHERE id = ? FOR UPDATE", "UPDATE stock SET n = n + 1 WHERE id = ?"},
		"SELECT n FROM stock WHERE id = ?", 0, 0, 0,
	},
	"read-twice": {
		[]string{"UPDATE stock SET n = n + 1 WHERE id = ?", "SELECT n FROM stock WHERE id = ?", "UPDATE stock SET n = n + 1 WHERE id = ?"},
		"SELECT n FROM stock WHERE id = ?", 0, 0, 0,
	},
}

// sqliteCases are those of a table without slots, as they are by default on SQLite.
var sqliteCases = []string{"set", "save", "guard", "delete", "read", "read-twice"}

// A SQLite database has no round trips: what its connections run is counted. Without slots that is
// what the application runs.
func TestColdRowsAsPlainSQLite(t *testing.T) {
	p := twin.New(t, twin.Options{
		Dialect: "sqlite",
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
			"INSERT INTO stock VALUES (1, 5, '')",
		},
		Config: "version: 1\ntables: {stock: {counters: {n: {}}, slots: 0}}\n",
	})
	config, err := slotsql.Load(p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	var counts [2]trips
	wrapped, err := slotsql.OpenDB(&countedSQLite{p, p.WrappedDSN, &counts[1]}, twin.Wrapping["sqlite"], config)
	if err != nil {
		t.Fatal(err)
	}
	dbs := [2]*sql.DB{sql.OpenDB(&countedSQLite{p, p.PlainDSN, &counts[0]}), wrapped}
	for _, name := range sqliteCases {
		var n [2]int64
		for i, db := range dbs {
			db.SetMaxOpenConns(1)
			coldCases[name].run(t, "sqlite", db, &counts[i], sql.LevelDefault, 1)
			n[i] = coldCases[name].run(t, "sqlite", db, &counts[i], sql.LevelDefault, 1)
		}
		if n[0] == 0 || n[1] != n[0] {
			t.Errorf("%s: %d statements, plain %d", name, n[1], n[0])
		}
	}
	for _, db := range dbs {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// countedSQLite opens connections whose statements are counted.
type countedSQLite struct {
	p   *twin.Pair
	dsn string
	of  *trips
}

func (c *countedSQLite) Driver() driver.Driver { return c.p.Under.Driver() }

func (c *countedSQLite) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	return countedConn{conn, c.of}, err
}

type countedConn struct {
	driver.Conn
	of *trips
}

func (c countedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c countedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
	if !errors.Is(err, driver.ErrSkip) {
		c.of.n.Add(1)
	}
	return res, err
}

func (c countedConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	queryer, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	c.of.n.Add(1)
	return queryer.QueryContext(ctx, q, args)
}

func (c countedConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	st, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, q)
	return countedStmt{st, c.of}, err
}

type countedStmt struct {
	driver.Stmt
	of *trips
}

func (s countedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.of.n.Add(1)
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s countedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.of.n.Add(1)
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// A statement of a row without slots takes as many round trips in a transaction as with
// the plain driver, or a few more, and none more where the transaction has the row.
func TestColdRowsAsPlain(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			t.Run(strings.ReplaceAll(level.String(), " ", "-"), func(t *testing.T) {
				t.Parallel()
				p := coldRows(t, dialect, 8*len(coldCases))
				var counts [2]trips
				dbs := countedTrips(t, p, &counts)
				row := 0 // each of them is met once, so that none is hot
				for name, c := range coldCases {
					most := c.beyond
					switch {
					case dialect == "mysql":
						most = c.mysql
					case level >= sql.LevelRepeatableRead:
						most = c.snapshot
					}
					var best [2]int64
					var sent []string
					for round := range 8 {
						row++
						for i := range dbs {
							n := c.run(t, dialect, dbs[i], &counts[i], level, row)
							if round == 0 || n < best[i] {
								best[i] = n
								if i == 1 {
									sent = counts[i].statements()
								}
							}
						}
					}
					if best[1] > best[0]+most {
						t.Errorf("%s: %d round trips, plain %d, %d more allowed:\n%s", name, best[1], best[0], most, strings.Join(sent, "\n"))
					}
				}
			})
		}
	})
}

// A change of a row has the row for itself, and takes no more round trips than plain where transactions have been seen
// to read counters after such a change.
func TestColdChangeThenRead(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		const change = "UPDATE stock SET note = 'x' WHERE id = ?"
		p := coldRows(t, dialect, 2)
		var counts [2]trips
		dbs := countedTrips(t, p, &counts)
		read := coldCase{before: []string{change}, statement: "SELECT n FROM stock WHERE id = ?"}
		var n [2]int64
		for i, db := range dbs {
			read.run(t, dialect, db, &counts[i], sql.LevelDefault, 1)
			n[i] = coldCase{statement: change}.run(t, dialect, db, &counts[i], sql.LevelDefault, 2)
		}
		if n[0] == 0 || n[1] > n[0] {
			t.Errorf("%d round trips, plain %d:\n%s", n[1], n[0], strings.Join(counts[1].statements(), "\n"))
		}
	})
}

// countedTrips opens the plain database and the wrapped one, with one connection whose round trips are counted.
func countedTrips(t *testing.T, p *twin.Pair, counts *[2]trips) (dbs [2]*sql.DB) {
	t.Helper()
	for i, dsn := range []string{p.PlainDSN, p.WrappedDSN} {
		dsn = counts[i].through(t, p.Dialect, dsn)
		var err error
		if name := twin.Plain[p.Dialect]; i == 0 {
			dbs[i], err = sql.Open(name, dsn)
		} else {
			dbs[i], err = twin.OpenWrapped(name, dsn, p.ConfigPath)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dbs[i].Close() })
		dbs[i].SetMaxOpenConns(1)
	}
	return dbs
}

// coldRows makes a table of rows that have not been counted in yet.
func coldRows(t *testing.T, dialect string, rows int) *twin.Pair {
	t.Helper()
	var values []string
	for i := range rows {
		values = append(values, fmt.Sprintf("(%d, 5, '')", i+1))
	}
	return twin.New(t, twin.Options{
		Dialect: dialect,
		Schema: []string{
			"CREATE TABLE stock (id INT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(40))",
			"INSERT INTO stock VALUES " + strings.Join(values, ", "),
		},
		Config: "version: 1\nauto_migrate: true\ntables: {stock: {counters: {n: {}}, slots: 8, placement: adaptive}}\n",
		Params: map[string]string{"mysql": "interpolateParams=true"}[dialect],
	})
}

// run returns the round trips of the case's statement.
func (c coldCase) run(t *testing.T, dialect string, db *sql.DB, count *trips, level sql.IsolationLevel, row int) int64 {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing is to stay
	do := func(q string) {
		if dialect == "postgres" {
			q = strings.Replace(q, "?", "$1", 1)
		}
		if !strings.HasPrefix(q, "SELECT") {
			_, err = tx.Exec(q, row)
		} else {
			var n int64
			err = tx.QueryRow(q, row).Scan(&n)
		}
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	for _, q := range c.before {
		do(q)
	}
	count.mu.Lock()
	count.sent = nil
	count.mu.Unlock()
	from := count.n.Load()
	do(c.statement)
	return count.n.Load() - from
}
