// Package galera holds the tests on a MariaDB Galera cluster, whose nodes all
// take writes. A row that two nodes write at about the same time fails on one of
// them, with error 1213: at its COMMIT, or where it stands. They run when
// server.EnvGalera asks for them.
package galera

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
	mysqlslots "github.com/slotsql/slotsql/mysql"
)

const config = "version: 1\nauto_migrate: true\ntables: {pages: {counters: {views: {}}}}\n"

// clients is how many work at the same time, on all nodes together.
const clients = 30

// rows is how many pages there are.
const rows = 4

// A database is one on the cluster, and the driver to reach it by.
type database struct {
	dsns    []string
	wrapped bool
	config  string    // of slotsql
	dbs     []*sql.DB // of a client i: dbs[i % len(dbs)]
}

// newDatabase makes one with the tables, and waits until every node has them.
func newDatabase(t testing.TB, wrapped bool) *database {
	t.Helper()
	d := &database{dsns: server.Galera(t), wrapped: wrapped, config: config}
	db := d.plain(t, 0)
	for _, q := range []string{
		"CREATE TABLE pages (id BIGINT PRIMARY KEY, title VARCHAR(50), views BIGINT NOT NULL)",
		"CREATE TABLE visits (id BIGINT PRIMARY KEY AUTO_INCREMENT, page_id BIGINT NOT NULL)",
		"INSERT INTO pages VALUES (1, 'one', 0), (2, 'two', 0), (3, 'three', 0), (4, 'four', 0)",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for node := range d.dsns {
		var n int
		if err := d.plain(t, node).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pages").Scan(&n); err != nil || n != rows {
			t.Fatalf("node %d: %d rows, %v", node+1, n, err)
		}
	}
	return d
}

// synced has a connection read what has been committed on any node.
const synced = "?wsrep_sync_wait=7"

// plain opens a node with the plain driver.
func (d *database) plain(t testing.TB, node int) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", d.dsns[node]+synced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// connector opens one of the driver under test.
func (d *database) connector(t testing.TB, parent driver.Connector) driver.Connector {
	t.Helper()
	if !d.wrapped {
		return parent
	}
	c, err := slotsql.Parse([]byte(d.config), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := slotsql.WrapConnector(parent, mysqlslots.Dialect(), c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (d *database) open(t testing.TB, parent driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(d.connector(t, parent))
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxIdleConns(clients)
	db.SetMaxOpenConns(clients)
	return db
}

// ways are how an application reaches several nodes.
var ways = map[string]func(t testing.TB, d *database, params string){
	"a connector per node": func(t testing.TB, d *database, params string) {
		for _, c := range nodes(t, d, params) {
			d.dbs = append(d.dbs, d.open(t, c))
		}
	},
	"nodes in turn": func(t testing.TB, d *database, params string) {
		d.dbs = append(d.dbs, d.open(t, &inTurn{nodes: nodes(t, d, params)}))
	},
}

func nodes(t testing.TB, d *database, params string) (out []driver.Connector) {
	t.Helper()
	for _, dsn := range d.dsns {
		c, err := (&mysql.MySQLDriver{}).OpenConnector(dsn + params)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// inTurn is what a load balancer does, or a driver with several hosts in its
// DSN.
type inTurn struct {
	nodes []driver.Connector
	next  atomic.Int64
}

func (c *inTurn) Connect(ctx context.Context) (driver.Conn, error) {
	return c.nodes[int(c.next.Add(1))%len(c.nodes)].Connect(ctx)
}
func (c *inTurn) Driver() driver.Driver { return c.nodes[0].Driver() }

// failures counts errors by class.
type failures struct {
	mu     sync.Mutex
	counts map[string]int
	other  error // one that is no conflict
}

// What the plain driver gets as well. The second is a row's lock that was not to
// be had in time: an applier and a transaction that waits for its certification
// may wait for each other that long.
const conflict, timeout = "MySQL 1213 (40001)", "MySQL 1205 (HY000)"

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	class := twin.Class(err)
	f.counts[class]++
	if class != conflict && class != timeout {
		f.other = err
	}
}

func (f *failures) total() (n int) {
	for _, c := range f.counts {
		n += c
	}
	return n
}

func (f *failures) String() string {
	if f.other == nil {
		return fmt.Sprint(f.counts)
	}
	return fmt.Sprintf("%v, such as %v", f.counts, f.other)
}

// together runs op times times in each client.
func together(t testing.TB, d *database, times int, op func(db *sql.DB, client, time int) error) *failures {
	t.Helper()
	var f failures
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for k := range times {
				if err := op(d.dbs[i%len(d.dbs)], i, k); err != nil {
					f.add(err)
				}
			}
		})
	}
	wg.Wait()
	return &f
}

// counted is what has been acknowledged, by page.
type counted [rows + 1]atomic.Int64

// check compares the totals on every node with what has been acknowledged.
func (d *database) check(t testing.TB, c *counted) {
	t.Helper()
	for node := range d.dsns {
		db := d.plain(t, node)
		for id := 1; id <= rows; id++ {
			total := "views"
			if d.wrapped {
				total = "views + COALESCE((SELECT SUM(views) FROM pages_slots s WHERE s.id = pages.id), 0)"
			}
			var got int64
			if err := db.QueryRowContext(t.Context(), "SELECT "+total+" FROM pages WHERE id = ?", id).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if want := c[id].Load(); got != want {
				t.Errorf("node %d: page %d: %d views, want %d", node+1, id, got, want)
			}
		}
	}
	if !d.wrapped {
		return
	}
	for _, c := range nodes(t, d, synced) {
		db := d.open(t, c)
		for id := 1; id <= rows; id++ {
			var got, want int64
			if err := db.QueryRowContext(t.Context(), "SELECT views FROM pages WHERE id = ?", id).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if err := d.plain(t, 0).QueryRowContext(
				t.Context(),
				"SELECT views + COALESCE((SELECT SUM(views) FROM pages_slots s WHERE s.id = pages.id), 0) FROM pages WHERE id = ?",
				id,
			).Scan(&want); err != nil ||
				got != want {
				t.Errorf("page %d reads as %d, want %d: %v", id, got, want, err)
			}
		}
	}
}

func affectsOne(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); n != 1 || err != nil {
		return fmt.Errorf("%d rows affected, %w", n, err)
	}
	return nil
}

const inc = "UPDATE pages SET views = views + 1 WHERE id = ?"

// each runs f with the plain and the wrapped driver, each way.
func each(t *testing.T, params string, f func(t *testing.T, d *database)) {
	for _, side := range []string{"plain", "wrapped"} {
		for way, open := range ways {
			t.Run(strings.ReplaceAll(side+"/"+way, " ", "_"), func(t *testing.T) {
				d := newDatabase(t, side == "wrapped")
				open(t, d, params)
				f(t, d)
			})
		}
	}
}

// Increments that are acknowledged count, and no others.
func TestIncrements(t *testing.T) {
	for _, params := range []string{"", "?interpolateParams=true"} {
		t.Run("params"+params, func(t *testing.T) {
			each(t, params, func(t *testing.T, d *database) {
				var c counted
				f := together(t, d, 40, func(db *sql.DB, _, _ int) error {
					err := affectsOne(db.ExecContext(t.Context(), inc, 1))
					if err == nil {
						c[1].Add(1)
					}
					return err
				})
				t.Logf("%d of %d have failed: %v", f.total(), clients*40, f)
				// A conflict is tried again, a wait that was too long is not, as with the plain driver.
				if d.wrapped && f.counts[conflict] > 0 || f.other != nil {
					t.Errorf("failed: %v", f)
				}
				d.check(t, &c)
			})
		})
	}
}
