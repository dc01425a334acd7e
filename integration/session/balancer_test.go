package session

import (
	"bytes"
	"database/sql"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
	"github.com/slotsql/slotsql/internal/link"
)

// balancer stands between clients and a server. A connection over which nothing has been sent for a while is dropped
// without a word: the server's side is closed, and the client's is not answered.
type balancer struct {
	network, address string // of the server
	idle             time.Duration

	mu     sync.Mutex
	ended  *sync.Cond
	opened int
	live   int      // connections that are neither closed nor dropped
	lost   [][]byte // what was sent on connections that had been dropped
}

// newBalancer returns a balancer and the DSN by which it is reached.
func newBalancer(t *testing.T, dialect, dsn string, idle time.Duration) (b *balancer, through string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "idle")
	if err != nil {
		t.Fatal(err)
	}
	b = &balancer{idle: idle}
	b.ended = sync.NewCond(&b.mu)
	socket := filepath.Join(dir, ".s.PGSQL.5432")
	if dialect == "mysql" {
		to := regexp.MustCompile(`@(\w+)\(([^)]*)\)`)
		at := to.FindStringSubmatch(dsn)
		b.network, b.address = at[1], at[2]
		through = to.ReplaceAllString(dsn, "@unix("+socket+")")
	} else {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		q, port := u.Query(), "5432"
		if q.Has("port") {
			port = q.Get("port")
		}
		b.network, b.address = "unix", filepath.Join(q.Get("host"), ".s.PGSQL."+port)
		q.Set("host", dir)
		q.Set("port", "5432")
		u.RawQuery = q.Encode()
		through = u.String()
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { b.serve(t, client) })
		}
	})
	t.Cleanup(func() { // after those of the clients, which close their connections
		_ = l.Close()
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return b, through
}

// serve is a connection's life, which ends when the client closes it.
func (b *balancer) serve(t *testing.T, client net.Conn) {
	defer client.Close()
	server, err := net.Dial(b.network, b.address)
	if err != nil {
		t.Error(err)
		return
	}
	b.mu.Lock()
	b.opened++
	b.live++
	b.mu.Unlock()
	dropped := false
	end := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !dropped {
			dropped = true
			b.live--
			b.ended.Broadcast()
			_ = server.Close()
		}
	}
	defer end()
	idle := time.AfterFunc(b.idle, end)
	defer idle.Stop()
	go pass(server, func(sent []byte) bool {
		idle.Reset(b.idle)
		_, err := client.Write(sent)
		return err == nil
	})
	pass(client, func(sent []byte) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if dropped {
			b.lost = append(b.lost, bytes.Clone(sent))
			return false // an error instead of no answer, so that the test ends
		}
		idle.Reset(b.idle)
		_, _ = server.Write(sent)
		return true
	})
}

// pass passes on what is read.
func pass(from net.Conn, to func([]byte) bool) {
	for buffer := make([]byte, 1<<15); ; {
		n, err := from.Read(buffer)
		if err != nil || !to(buffer[:n]) {
			return
		}
	}
}

// idled returns how many connections there have been when each has been closed by its client or dropped.
func (b *balancer) idled() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.live > 0 {
		b.ended.Wait()
	}
	return b.opened
}

// unanswered returns what was sent on connections that had been dropped, except that they are closed.
func (b *balancer) unanswered() (out [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sent := range b.lost {
		if !bytes.Equal(sent, []byte("X\x00\x00\x00\x04")) && !bytes.Equal(sent, []byte("\x01\x00\x00\x00\x01")) {
			out = append(out, sent)
		}
	}
	return out
}

// A balancer drops side connections that idle for longer than slotsql keeps them: no statement is sent on one, and so none
// waits for an answer that never comes. The application's connections are closed before by the limit of its pool.
func TestSideConnectionsBehindBalancer(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL, stock INT NOT NULL)",
					"INSERT INTO posts VALUES (1, 10, 100)",
				},
				Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 8, placement: connection}\n" +
					"tables: {posts: {counters: {views: {}, stock: {min: 0}}}}\n",
			})
			plainBehind, plainDSN := newBalancer(t, dialect, p.PlainDSN, 2*link.OwnIdle)
			behind, dsn := newBalancer(t, dialect, p.WrappedDSN, 2*link.OwnIdle)
			p.Plain, p.Wrapped = openBehind(t, p, plainDSN, dsn)
			run := func() {
				t.Helper()
				for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
					inTx(t, p, level, "SELECT views FROM posts", "UPDATE posts SET views = views * 2 WHERE id = 1")
					inTx(t, p, level, "UPDATE posts SET stock = stock - 1 WHERE id = 1 AND stock >= 1", "SELECT views, stock FROM posts")
				}
			}
			run()
			if plain, wrapped := plainBehind.idled(), behind.idled(); wrapped <= plain {
				t.Fatalf("%d connections, plain %d: no side connection was opened", wrapped, plain)
			}
			run()
			for _, b := range []*balancer{plainBehind, behind} {
				for _, sent := range b.unanswered() {
					t.Errorf("sent on a connection that had been dropped: %q", sent)
				}
			}
		})
	}
}

// openBehind opens both sides behind balancers, with pools that close what idles.
func openBehind(t *testing.T, p *twin.Pair, plainDSN, wrappedDSN string) (plain, wrapped *sql.DB) {
	t.Helper()
	plain, err := sql.Open(twin.Plain[p.Dialect], plainDSN)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err = twin.OpenWrapped(twin.Plain[p.Dialect], wrappedDSN, p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range []*sql.DB{plain, wrapped} {
		db.SetConnMaxIdleTime(link.OwnIdle / 5)
		t.Cleanup(func() { _ = db.Close() })
	}
	return plain, wrapped
}

// inTx runs statements in a transaction on each side.
func inTx(t *testing.T, p *twin.Pair, level sql.IsolationLevel, statements ...string) {
	t.Helper()
	var open [2]*sql.Tx
	for i, db := range []*sql.DB{p.Plain, p.Wrapped} {
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		open[i] = tx
	}
	for _, q := range statements {
		both{open[0], open[1]}.same(t, twin.Statement{SQL: q})
	}
	for _, tx := range open {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}
