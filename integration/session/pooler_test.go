package session

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// pooler is a transaction pooler: each client is given one of a few server
// connections when it sends something, until the server reports that it is in no
// transaction. A client waits until there is one.
type pooler struct {
	t      *testing.T
	server string // its socket
	user   string
	name   string // of the database
	idle   chan *backend
	busy   sync.WaitGroup
}

// backend is one of the server's connections.
type backend struct {
	net.Conn
	params []byte // what it has said before it was ready first
}

// newPooler returns the directory of the pooler's socket.
func newPooler(t *testing.T, dsn string, size int) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{
		t:      t,
		server: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"),
		user:   u.Query().Get("user"),
		name:   u.Path[1:],
		idle:   make(chan *backend, size),
	}
	for range size {
		b, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		p.idle <- b
	}
	dir, err := os.MkdirTemp("", "pool")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		p.busy.Wait()
		close(p.idle)
		for b := range p.idle {
			_ = b.Close()
		}
		_ = os.RemoveAll(dir)
	})
	p.busy.Add(1)
	go func() {
		defer p.busy.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.busy.Add(1)
			go func() {
				defer p.busy.Done()
				p.serve(ctx, c)
			}()
		}
	}()
	u.RawQuery = url.Values{"host": {dir}, "user": {p.user}, "sslmode": {"disable"}, "default_query_exec_mode": {"exec"}}.Encode()
	return u.String()
}

func message(kind byte, body []byte) []byte {
	var out []byte
	if kind != 0 {
		out = append(out, kind)
	}
	return append(binary.BigEndian.AppendUint32(out, uint32(len(body)+4)), body...)
}

func receive(r io.Reader, typed bool) (kind byte, body []byte, err error) {
	head := make([]byte, 5)
	if !typed {
		head = head[1:]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	if typed {
		kind, head = head[0], head[1:]
	}
	body = make([]byte, binary.BigEndian.Uint32(head)-4)
	_, err = io.ReadFull(r, body)
	return kind, body, err
}

func (p *pooler) open() (*backend, error) {
	c, err := net.Dial("unix", p.server)
	if err != nil {
		return nil, err
	}
	start := fmt.Sprintf("\x00\x03\x00\x00user\x00%s\x00database\x00%s\x00\x00", p.user, p.name)
	if _, err := c.Write(message(0, []byte(start))); err != nil {
		return nil, err
	}
	b := &backend{Conn: c}
	for {
		kind, body, err := receive(c, true)
		switch {
		case err != nil:
			return nil, err
		case kind == 'E':
			return nil, fmt.Errorf("%q", body)
		}
		b.params = append(b.params, message(kind, body)...)
		if kind == 'Z' {
			return b, nil
		}
	}
}

// serve is one client's life.
func (p *pooler) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	if _, body, err := receive(client, false); err != nil || binary.BigEndian.Uint32(body) != 3<<16 {
		return // a cancel request
	}
	first := true
	for {
		// In no transaction. A client that goes away while it waits waits for nothing.
		sent := make([]byte, 1)
		if !first {
			if _, err := io.ReadFull(client, sent); err != nil || sent[0] == 'X' {
				return
			}
		}
		var b *backend
		select {
		case b = <-p.idle:
		case <-ctx.Done():
			return
		}
		if first {
			first = false
			_, err := client.Write(b.params)
			p.idle <- b
			if err != nil {
				return
			}
			continue
		}
		if !p.transaction(client, b, sent) {
			_ = b.Close()
			if fresh, err := p.open(); err == nil {
				p.idle <- fresh
			} else {
				p.t.Error(err)
			}
			return
		}
		p.idle <- b
	}
}

// transaction passes messages on until the server is in no transaction.
func (p *pooler) transaction(client net.Conn, b *backend, sent []byte) bool {
	done := make(chan bool, 1)
	pending, answered := 0, make(chan byte, 1)
	go func() { // the server's answers
		for {
			kind, body, err := receive(b, true)
			if err != nil {
				done <- false
				return
			}
			if _, err := client.Write(message(kind, body)); err != nil {
				done <- false
				return
			}
			if kind == 'Z' {
				answered <- body[0]
				if body[0] == 'I' {
					done <- true
					return
				}
			}
		}
	}()
	for {
		head := make([]byte, 5)
		copy(head, sent)
		if _, err := io.ReadFull(client, head[len(sent):]); err != nil {
			return false
		}
		sent = nil
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return false
		}
		if head[0] == 'X' {
			return false
		}
		if _, err := b.Write(append(head, body...)); err != nil {
			return false
		}
		if head[0] != 'S' && head[0] != 'Q' {
			continue
		}
		pending++
		select {
		case status := <-answered:
			if pending--; status == 'I' && pending == 0 {
				return <-done
			}
		case ok := <-done:
			return ok
		}
	}
}

// Behind a transaction pooler drains at REPEATABLE READ may hold all server
// connections, so that none is left for the session that tells what is newer:
// each gets what plain would get, and none waits for long.
func TestDrainsHoldAllServerConnections(t *testing.T) {
	t.Parallel()
	p := newPair(t, "postgres", "")
	execAll(t, p.Wrapped, work[0])
	const size = 4
	dsn := newPooler(t, p.WrappedDSN, size)
	db, err := twin.OpenWrapped(twin.Plain["postgres"], dsn, p.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	execAll(t, db, "INSERT INTO posts (id, views) VALUES (4, 0)")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	begin := func() (txs []*sql.Tx) {
		for range size {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() })
			if err := readAll(tx.QueryContext(ctx, "SELECT views FROM posts")); err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
		}
		return txs
	}
	for _, counted := range []bool{false, true} {
		txs := begin()
		if counted {
			for _, other := range []int{1, 3} {
				execAll(t, withSlots(t, p, 4096), fmt.Sprintf("UPDATE posts SET views = views + 1 WHERE id = %d", other))
			}
		}
		for i, tx := range txs {
			want := map[bool]string{false: "none", true: "PostgreSQL 40001"}[counted && i%2 == 0]
			_, err := tx.ExecContext(ctx, "UPDATE posts SET views = views * 2 WHERE id = $1", i+1)
			if twin.Class(err) != want {
				t.Errorf("row %d: %v (%s), want %s", i+1, err, twin.Class(err), want)
			}
		}
		for _, tx := range txs {
			_ = tx.Rollback()
		}
	}
	// A drain of all rows cannot meet all slots: it is to be tried again.
	txs := begin()
	if _, err := txs[0].ExecContext(ctx, "UPDATE posts SET views = views * 2"); twin.Class(err) != "PostgreSQL 40001" {
		t.Errorf("%v (%s), want 40001", err, twin.Class(err))
	}
	for _, tx := range txs {
		_ = tx.Rollback()
	}
	if got, want := twin.Rows(t, db, "SELECT id, views FROM posts ORDER BY id"), "1 12\n2 20\n3 31\n4 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
