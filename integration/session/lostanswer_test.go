package session

import (
	"context"
	"database/sql"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/postgres"
)

// unanswered loses its connection when the answer comes to what is sent next, once it is armed.
type unanswered struct {
	net.Conn
	armed *atomic.Bool
	lost  bool
}

func (c *unanswered) Write(b []byte) (int, error) {
	c.lost = c.lost || c.armed.Swap(false)
	return c.Conn.Write(b)
}

func (c *unanswered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost {
		return 0, syscall.ECONNRESET
	}
	return n, err
}

// A statement whose answer is lost is not run again. Where it has no arguments pgx reports such a loss as one before the
// statement was sent, whereupon database/sql runs it once more.
func TestAnswerLost(t *testing.T) {
	twin.Serves(t, "postgres")
	const increment = "UPDATE posts SET views = views + 1 WHERE id = 1"
	for name, c := range map[string]struct {
		table, params, query string
		args                 []any
		rows                 bool
	}{
		"in a group":      {table: "slots: 0", query: increment},
		"in a slot":       {table: "slots: 4, placement: connection", query: increment},
		"on the base row": {table: "slots: 4", query: increment},
		"returning":       {table: "slots: 4", query: increment + " RETURNING views", rows: true},
		"several rows":    {table: "slots: 4", query: "UPDATE posts SET views = views + 1 WHERE id < 2"},
		"with arguments":  {table: "slots: 4", query: "UPDATE posts SET views = views + $1 WHERE id = $2", args: []any{1, 1}},
		"simple protocol": {table: "slots: 4", params: "default_query_exec_mode=simple_protocol",
			query: "UPDATE posts SET views = views + $1 WHERE id = $2", args: []any{1, 1}},
		"simple protocol, returning": {table: "slots: 4", params: "default_query_exec_mode=simple_protocol",
			query: increment + " RETURNING views", rows: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: "postgres", Params: c.params,
				Schema: []string{"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 0)"},
				Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, " + c.table + "}}\n",
			})
			parent, err := pgx.ParseConfig(p.WrappedDSN)
			if err != nil {
				t.Fatal(err)
			}
			var armed atomic.Bool
			parent.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return &unanswered{Conn: conn, armed: &armed}, err
			}
			config, err := slotsql.Load(p.ConfigPath)
			if err != nil {
				t.Fatal(err)
			}
			db, err := slotsql.OpenDB(stdlib.GetConnector(*parent), postgres.Dialect(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			run := func() error {
				if !c.rows {
					_, err := db.ExecContext(t.Context(), c.query, c.args...)
					return err
				}
				return db.QueryRowContext(t.Context(), c.query, c.args...).Scan(new(sql.NullInt64))
			}
			for range 2 { // what is planned, and what runs as it did before
				if err := run(); err != nil {
					t.Fatal(err)
				}
			}
			total := func() (n int) {
				if err := p.Wrapped.QueryRow("SELECT views FROM posts WHERE id = 1").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			for range 50 {
				before := total()
				armed.Store(true)
				err := run()
				n := total() - before
				if n > 1 {
					t.Fatalf("%d were added, and the caller gets %v", n, err)
				}
				if err != nil {
					return
				}
				armed.Store(false) // a ping was not answered, or a look at the catalog
			}
			t.Error("no caller learns of it")
		})
	}
}
