package faults

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// A counter is a row that clients change by amounts, in one way.
type counter struct {
	table, column string
	id, start     int64
	sign          int64
	change        string // takes the amount, once or twice
	beside        string // inserted in the same transaction, with the amount; none outside transactions
	sum           string // of what is inserted
}

const stocked = 2000

// counters run in groups on the base row, alone in slots, in transactions in slots, and from a stock with and without.
var counters = []counter{
	{table: "pages", column: "views", id: 1, sign: 1, change: "UPDATE pages SET views = views + ? WHERE id = 1"},
	{table: "posts", column: "likes", id: 1, sign: 1, change: "UPDATE posts SET likes = likes + ? WHERE id = 1"},
	{
		table: "posts", column: "likes", id: 2, sign: 1, change: "UPDATE posts SET likes = likes + ? WHERE id = 2",
		beside: "INSERT INTO visits (n, pad) VALUES (?, ?)", sum: "SELECT COALESCE(SUM(n), 0) FROM visits",
	},
	{
		table: "items", column: "stock", id: 1, sign: -1, start: stocked,
		change: "UPDATE items SET stock = stock - ? WHERE id = 1 AND stock >= ?",
		beside: "INSERT INTO orders (n, pad) VALUES (?, ?)", sum: "SELECT COALESCE(SUM(n), 0) FROM orders",
	},
	{
		table: "items", column: "stock", id: 2, sign: -1, start: stocked,
		change: "UPDATE items SET stock = stock - ? WHERE id = 2 AND stock >= ?",
	},
}

const (
	grouped = 0
	sold    = 3

	pages, posts, items, notes, series = "pages", "posts", "items", "notes", "series"
)

var config = `
version: 1
auto_migrate: true
rollup: {interval: 100ms}
defaults: {slots: 8}
tables:
  pages: {counters: {views: {}}}
  posts: {placement: connection, counters: {likes: {}}}
  items: {placement: connection, counters: {stock: {min: 0}}}
  notes: {placement: connection, foreign_keys: false, counters: {stars: {}}}
  series: {slots: 0, counters: {next: {tickets: {block: 20}}}}
`

var schema = []string{
	"CREATE TABLE pages (id BIGINT PRIMARY KEY, views BIGINT NOT NULL, title VARCHAR(40))",
	"CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL, title VARCHAR(40))",
	"CREATE TABLE items (id BIGINT PRIMARY KEY, stock BIGINT NOT NULL, title VARCHAR(40))",
	"CREATE TABLE notes (id BIGINT PRIMARY KEY, stars BIGINT NOT NULL)",
	"CREATE TABLE series (id BIGINT PRIMARY KEY, next BIGINT NOT NULL)",
	"CREATE TABLE visits (n BIGINT NOT NULL, pad VARCHAR(500))",
	"CREATE TABLE orders (n BIGINT NOT NULL, pad VARCHAR(500))",
	"INSERT INTO pages VALUES (1, 0, 'one'), (2, 0, 'two')",
	"INSERT INTO posts VALUES (1, 0, 'one'), (2, 0, 'two')",
	fmt.Sprintf("INSERT INTO items VALUES (1, %d, 'one'), (2, %[1]d, 'two')", stocked),
	"INSERT INTO series VALUES (1, 0)",
}

// An app is a process of the application: clients that change counters until they are told to stop.
type app struct {
	Engine, DSN string
	Clients     int
	Counters    []int // that clients change; all, and whatever else the load does, if there are none
	Seed        uint64
	Patience    time.Duration // of a client, for a statement or a transaction

	db   *sql.DB
	tell func(event)
	look func(ctx context.Context, counter int) error // reads it
	over atomic.Bool
}

// An event is what a client does, or learns.
type event struct {
	What    string // what follows
	Client  int
	Counter int
	N       int64  // the amount, the ticket
	Err     string `json:",omitempty"`
}

const (
	begun    = "begun"   // the statement is about to be sent
	acked    = "acked"   // it has counted
	refused  = "refused" // the stock is not enough
	failed   = "failed"  // nothing of it is applied
	doubtful = "in doubt"
	drawn    = "drawn"
	wrong    = "wrong"
)

// open opens the database as any program does.
func (a *app) open() (*slotsql.Connector, error) {
	c, err := slotsql.Parse([]byte(config), "slotsql.yaml")
	if err != nil {
		return nil, err
	}
	connector, err := slotsql.OpenConnector(twin.Wrapped[dialect(a.Engine)], a.DSN, slotsql.WithConfig(c))
	if err != nil {
		return nil, err
	}
	a.db = sql.OpenDB(connector)
	a.db.SetMaxIdleConns(a.Clients)
	a.db.SetMaxOpenConns(a.Clients)
	return connector, nil
}

// run works until the application is over.
func (a *app) run() {
	var all sync.WaitGroup
	for client := range a.Clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(a.Seed, uint64(client)))
			for !a.over.Load() {
				if !a.step(client, r) {
					time.Sleep(5 * time.Millisecond) // as a program that tries again later
				}
			}
		})
	}
	all.Wait()
}

// step does one thing, and reports whether that went well.
func (a *app) step(client int, r *rand.Rand) bool {
	ctx, cancel := context.WithTimeout(context.Background(), a.Patience)
	defer cancel()
	dice := r.IntN(20)
	switch {
	case len(a.Counters) > 0:
	case dice == 0:
		i := r.IntN(len(counters))
		_, err := a.db.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET %s = %[2]s * 1 WHERE id = %d", counters[i].table, counters[i].column, counters[i].id))
		return err == nil
	case dice == 1:
		return a.churn(ctx, r) == nil
	case dice < 4 && a.look != nil:
		return a.look(ctx, r.IntN(len(counters))) == nil
	case dice == 4:
		n, err := a.draw(ctx)
		if err == nil {
			a.tell(event{What: drawn, Client: client, N: n})
		}
		return err == nil
	}
	i := r.IntN(len(counters))
	if len(a.Counters) > 0 {
		i = a.Counters[i%len(a.Counters)]
	}
	e := event{What: begun, Client: client, Counter: i, N: 1 + r.Int64N(3)}
	a.tell(e)
	c := counters[i]
	if r.IntN(4) == 0 { // without arguments, as drivers may send that otherwise
		c.change = strings.ReplaceAll(c.change, "?", fmt.Sprint(e.N))
	}
	n, sent, err := a.change(ctx, c, e.N, r.IntN(8) == 0)
	switch {
	case errors.Is(err, errRolledBack):
		e.What = failed
	case err != nil && sent && !certain(err):
		e.What, e.Err = doubtful, err.Error()
	case err != nil:
		e.What, e.Err = failed, err.Error()
	case n == 1:
		e.What = acked
	case n == 0 && c.sign < 0:
		e.What = refused
	default:
		e.What, e.Err = wrong, fmt.Sprintf("%d rows affected", n)
	}
	a.tell(e)
	return err == nil || e.Err == ""
}

var errRolledBack = errors.New("rolled back")

// change changes the counter. Sent reports whether it may have been applied in spite of an error.
func (a *app) change(ctx context.Context, c counter, n int64, back bool) (affected int64, sent bool, err error) {
	args := slices.Repeat([]any{n}, strings.Count(c.change, "?"))
	if c.beside == "" {
		res, err := a.db.ExecContext(ctx, a.sql(c.change), args...)
		if err != nil {
			return 0, true, err
		}
		affected, err = res.RowsAffected()
		return affected, true, err
	}
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = tx.Rollback() }()
	res, err := tx.ExecContext(ctx, a.sql(c.change), args...)
	if err != nil {
		return 0, false, err
	}
	if affected, err = res.RowsAffected(); err != nil || affected == 0 {
		return affected, false, err
	}
	if _, err := tx.ExecContext(ctx, a.sql(c.beside), n, strings.Repeat("x", 500)); err != nil {
		return 0, false, err
	}
	if back {
		return 0, false, errRolledBack
	}
	return affected, true, tx.Commit()
}

func (a *app) sql(query string) string { return twin.Placeholders(dialect(a.Engine), query) }

// churn adds rows, counts them and deletes them, whatever they hold.
func (a *app) churn(ctx context.Context, r *rand.Rand) error {
	id := 1 + r.IntN(3)
	query := "UPDATE notes SET stars = stars + 1 WHERE id = %d"
	switch r.IntN(4) {
	case 0:
		query = "INSERT INTO notes SELECT %d, 0 FROM pages WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM notes WHERE id = %[1]d)"
	case 1:
		query = "DELETE FROM notes WHERE id = %d"
	}
	_, err := a.db.ExecContext(ctx, fmt.Sprintf(query, id))
	return err
}

// draw draws a ticket.
func (a *app) draw(ctx context.Context) (n int64, err error) {
	if dialect(a.Engine) != "mysql" {
		err = a.db.QueryRowContext(ctx, "UPDATE series SET next = next + 1 WHERE id = 1 RETURNING next").Scan(&n)
		return n, err
	}
	res, err := a.db.ExecContext(ctx, "UPDATE series SET next = LAST_INSERT_ID(next + 1) WHERE id = 1")
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// certain reports whether nothing of what failed is applied: the server says so, or has not been reached.
func certain(err error) bool {
	var dial *net.OpError
	var connect *pgconn.ConnectError
	if errors.Is(err, driver.ErrBadConn) || errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &connect) {
		return true
	}
	class := twin.Class(err)
	switch class {
	case "MySQL 1053 (08S01)", "MySQL 1317 (70100)", "MySQL 1927 (70100)", "MySQL 1180 (HY000)": // the session ends, or COMMIT fails
		return false
	}
	return !strings.HasPrefix(class, "PostgreSQL 57P") && !strings.HasPrefix(class, "PostgreSQL 08") && !strings.HasPrefix(class, "SQLite 10") &&
		(strings.HasPrefix(class, "PostgreSQL ") || strings.HasPrefix(class, "MySQL ") || strings.HasPrefix(class, "SQLite "))
}

// appEnv makes a process of this test binary the application. It holds an app.
const appEnv = "SLOTSQL_FAULTS_APP"

// serve is the application's process: it writes what its clients do and learn to its output, until it is killed.
func serve(spec string) error {
	var a app
	if err := json.Unmarshal([]byte(spec), &a); err != nil {
		return err
	}
	if _, err := a.open(); err != nil {
		return err
	}
	var one sync.Mutex
	out := json.NewEncoder(os.Stdout)
	a.tell = func(e event) {
		one.Lock()
		defer one.Unlock()
		if out.Encode(e) != nil {
			os.Exit(1) // nobody listens
		}
	}
	a.run()
	return nil
}

// follow notes what a process writes, until it is no more.
func follow(out *bufio.Scanner, note func(event)) error {
	for out.Scan() {
		var e event
		if err := json.Unmarshal(out.Bytes(), &e); err != nil {
			return fmt.Errorf("%w: %s", err, out.Bytes())
		}
		note(e)
	}
	return out.Err()
}
