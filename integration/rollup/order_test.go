package rollup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A drain and a roll-up that want the same row at the same moment are no deadlock: both lock
// its base row before its slot rows. With another order they would be one on MariaDB, even
// though the roll-up skips what is locked.
func TestPickBesideDrains(t *testing.T) {
	p, table := postsWithSlots(t)
	twin.ExecAll(t, p.Under, "INSERT INTO posts_slots (id, slot, views) VALUES (1, 0, 5), (1, 1, 5)")
	batch := mysql.New().RollUp(table, dialect.RollUpPart{Limit: 10})

	run := func(statements ...string) error {
		conn, err := p.Under.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
		defer conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK") //nolint:errcheck // nothing is to stay
		for _, s := range statements {
			rows, err := conn.QueryContext(t.Context(), s)
			if err != nil {
				return err
			}
			for rows.Next() { //nolint:revive // what they lock is what counts
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	}
	both := [][]string{
		append(batch.Begin, batch.Pick.SQL),
		{
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN",
			"SELECT 1 FROM posts WHERE id = 1 FOR UPDATE", "SELECT 1 FROM posts_slots WHERE id = 1 FOR UPDATE",
		},
	}
	var wg sync.WaitGroup
	for _, statements := range append(both, both...) {
		wg.Go(func() {
			for range 1500 {
				if err := run(statements...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A batch of one row looks at no slot of another: MariaDB would have it wait for a moment for one
// that another transaction has locked, with the base row held, and fail that transaction if it
// begins to wait for the base row in that moment. Here nothing is skipped, so to look is an error.
func TestBatchLooksAtItsRowOnly(t *testing.T) {
	p, table := postsWithSlots(t)
	twin.ExecAll(t, p.Under, "INSERT INTO posts VALUES (2, 0), (3, 0)", "INSERT INTO posts_slots VALUES (2, 0, 5), (2, 1, 5)")
	other := twin.Conn(t, p.Under)
	for _, q := range []string{"BEGIN", "INSERT INTO posts_slots VALUES (1, 0, 1), (3, 0, 1)"} {
		if _, err := other.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	c, d := twin.Conn(t, p.Under), mysql.New()
	d.MariaDB = true
	batch := d.RollUp(table, dialect.RollUpPart{Between: true, Limit: 10})
	values := []any{"2", "2"}
	step := func(s dialect.Step) *sql.Rows {
		var args []any
		for _, a := range s.Args {
			args = append(args, values[a])
		}
		rows, err := c.QueryContext(t.Context(), strings.ReplaceAll(s.SQL, "SKIP LOCKED", "NOWAIT"), args...)
		if err != nil {
			t.Fatalf("%s: %v", s.SQL, err)
		}
		return rows
	}
	for _, q := range batch.Begin {
		step(dialect.Step{SQL: q}).Close()
	}
	picked := step(batch.Pick)
	var n int
	var list, expected string
	if !picked.Next() {
		t.Fatal(picked.Err())
	}
	if err := errors.Join(picked.Scan(&n, &list, &expected), picked.Close()); err != nil || n != 2 {
		t.Fatalf("%d slots are picked, error %v", n, err)
	}
	values = append(values, list, expected)
	for _, s := range batch.Move {
		step(s).Close()
	}
	for _, q := range batch.Commit {
		step(dialect.Step{SQL: q}).Close()
	}
	var views int
	if err := p.Under.QueryRow("SELECT views FROM posts WHERE id = 2").Scan(&views); err != nil || views != 10 {
		t.Errorf("the base row has %d, error %v", views, err)
	}
}

// postsWithSlots is a table with the row 1, and what slotsql knows of it.
func postsWithSlots(t *testing.T) (*twin.Pair, *schema.Table) {
	t.Helper()
	const (
		ddl  = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)"
		text = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 2}}\n"
	)
	p := twin.New(t, twin.Options{Dialect: "mysql", Schema: []string{ddl, "INSERT INTO posts VALUES (1, 0)"}, Config: text})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := mysql.New()
	cfg, err := config.Parse([]byte(text), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	session := dialect.PlainSession{Conn: twin.Conn(t, p.Under)}
	look := func(namespace, name string) (*schema.Table, error) {
		return d.Table(t.Context(), session, namespace, name)
	}
	tables, problems, err := catalog.NewCatalog(d, cfg, cfg.Tables()).CheckTables(config.Always, look)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return p, tables[0].Table
}

// Transactions that increment rows in one order are no deadlock, as with the plain driver, while
// slots are rolled up without a pause: a batch of several rows looks at none that another
// transaction has locked.
func TestRowsInOneOrder(t *testing.T) {
	const rows, clients, transactions = 12, 8, 300
	ddl := []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)"}
	for i := range rows {
		ddl = append(ddl, fmt.Sprintf("INSERT INTO posts VALUES (%d, 0)", i))
	}
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{
			Dialect: dialect, Schema: ddl,
			Config: "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 16, placement: connection}}\n",
		})
		p.Wrapped.SetMaxOpenConns(clients)
		p.Wrapped.SetMaxIdleConns(clients)
		if err := p.Wrapped.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		moved, stop := workers(t, p, 1)
		var wg sync.WaitGroup
		for c := range clients {
			rng := rand.New(rand.NewPCG(1, uint64(c)))
			wg.Go(func() {
				for range transactions {
					list := rng.Perm(rows)[:3]
					slices.Sort(list)
					if err := incrementAll(t.Context(), p, twin.Placeholders(dialect, "UPDATE posts SET views = views + 1 WHERE id = ?"), list); err != nil {
						t.Errorf("rows %v: %v", list, err)
						return
					}
				}
			})
		}
		wg.Wait()
		for moved.Load() == 0 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		stop()
		var total int
		if err := p.Wrapped.QueryRow("SELECT SUM(views) FROM posts").Scan(&total); err != nil || total != 3*clients*transactions && !t.Failed() {
			t.Errorf("the total is %d, error %v", total, err)
		}
	})
}

// incrementAll runs a statement for each of some rows in one transaction.
func incrementAll(ctx context.Context, p *twin.Pair, query string, ids []int) error {
	tx, err := p.Wrapped.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, query, id); err != nil {
			return err
		}
	}
	return tx.Commit()
}
