package session

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql/integration/twin"
)

// pauses runs a function before one of the statements that a transaction of slotsql's own sends.
type pauses struct {
	mu   sync.Mutex
	left int // statements until then
	do   func()
}

type pausingConn struct {
	net.Conn
	of    *pauses
	inOwn bool
}

func (c *pausingConn) Write(b []byte) (int, error) {
	switch {
	case bytes.HasSuffix(b, []byte("START TRANSACTION")):
		c.inOwn = true
	case bytes.Contains(b, []byte("COMMIT AND")), bytes.Contains(b, []byte("ROLLBACK AND")):
		c.inOwn = false
	case c.inOwn:
		c.of.mu.Lock()
		do := c.of.do
		if c.of.left--; c.of.left != 0 {
			do = nil
		}
		c.of.mu.Unlock()
		if do != nil {
			do()
		}
	}
	return c.Conn.Write(b)
}

// ownServer is a pair on a server of its own, whose locks no other test meets.
func ownServer(t *testing.T, at *pauses) *twin.Pair {
	t.Helper()
	dsn, admin := mariaDB(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DBName, cfg.Params = "counts", map[string]string{"innodb_lock_wait_timeout": "5"}
	p := &twin.Pair{Dialect: "mysql", ConfigPath: filepath.Join(t.TempDir(), "slotsql.yaml")}
	if err := os.WriteFile(p.ConfigPath, []byte(always), 0o600); err != nil {
		t.Fatal(err)
	}
	twin.ExecAll(t, admin, "CREATE DATABASE counts")
	if p.Under, err = sql.Open("mysql", cfg.FormatDSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Under.Close() })
	network := cfg.Net
	cfg.Net = fmt.Sprintf("pauses%d", dialers.Add(1))
	mysql.RegisterDialContext(cfg.Net, func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &pausingConn{Conn: conn, of: at}, err
	})
	if p.Wrapped, err = twin.OpenWrapped("mysql", cfg.FormatDSN(), p.ConfigPath); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Wrapped.Close() })
	twin.ExecAll(t, p.Under, schema("mysql")...)
	return p
}

// readLocks are what takes the lock that keeps all statements from writing, and gives it up.
var readLocks = map[string]string{
	"backup":   "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES",
	"failover": "SET GLOBAL read_only = 1; SET GLOBAL read_only = 0",
}

// backupsWaiting is how many sessions wait for such a lock: a backup lock of MariaDB, and a global read lock of MySQL.
const backupsWaiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE IN ('Waiting for backup lock', 'Waiting for global read lock')"

// Between two statements of a drain another session increments the row, and waits for it, and a third one asks for the lock with
// which a backup begins: neither waits for the drain longer than for a plain statement.
func TestBackupBetweenStatements(t *testing.T) {
	at := &pauses{}
	p := ownServer(t, at)
	multi, err := mysql.ParseDSN(dsnOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	multi.MultiStatements = true
	admin, err := sql.Open("mysql", multi.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for name, s := range map[string]twin.Statement{
		"set":        {SQL: "UPDATE posts SET views = ? WHERE id = 1", Args: []any{7}},
		"guard":      {SQL: "UPDATE posts SET views = views - ? WHERE id = 1 AND views >= ?", Args: []any{5, 13}},
		"for update": {SQL: "SELECT views FROM posts WHERE id = ? FOR UPDATE", Args: []any{1}},
		"delete":     {SQL: "DELETE FROM posts WHERE id = 1 AND views > 1"},
		"condition":  {SQL: "UPDATE posts SET title = 'x' WHERE views > 11"},
		"all":        {SQL: "UPDATE posts SET views = views * 2"},
	} {
		for lock, list := range readLocks {
			for _, prepared := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, lock, prepared), func(t *testing.T) {
					s.Prepared = prepared
					for n := 1; pausedAt(t, p, at, n, s, func() error {
						_, err := admin.ExecContext(context.Background(), list)
						return err
					}); n++ {
					}
				})
			}
		}
	}
}

// dsnOf is the data source of the server itself.
func dsnOf(t *testing.T, p *twin.Pair) string {
	t.Helper()
	return "root@unix(" + twin.Rows(t, p.Under, "SELECT @@socket") + ")/counts"
}

// pausedAt runs a statement that drains, and reports whether its transaction has sent n statements.
func pausedAt(t *testing.T, p *twin.Pair, at *pauses, n int, s twin.Statement, lock func() error) (paused bool) {
	t.Helper()
	twin.ExecAll(t, p.Wrapped, "DELETE FROM posts", schema("mysql")[1], work[0], work[0], work[3])
	ends := make(chan error, 2)
	running := 0
	at.mu.Lock()
	at.left, at.do = n, func() {
		paused, running = true, 2
		counted := make(chan error, 1)
		go func() {
			_, err := p.Under.ExecContext(context.Background(), "UPDATE posts SET views = views + 1 WHERE id = 1")
			counted <- err
			ends <- err
		}()
		p.UntilBlocked(t, counted)
		locked := make(chan error, 1)
		go func() {
			err := lock()
			locked <- err
			ends <- err
		}()
		for len(locked) == 0 && twin.Rows(t, p.Under, backupsWaiting) == "0" {
			time.Sleep(time.Millisecond)
		}
	}
	at.mu.Unlock()
	if err := twin.Run(t.Context(), p.Wrapped, s).Err; err != nil {
		t.Errorf("before statement %d: the statement: %v", n, err)
	}
	for range running {
		if err := <-ends; err != nil {
			t.Errorf("before statement %d: beside the statement: %v", n, err)
		}
	}
	return paused && !t.Failed()
}

// Six sessions increment, set and take from one row, alone and in groups, while backups begin one after another.
func TestBackupsBesideDrains(t *testing.T) {
	p := ownServer(t, &pauses{})
	p.Wrapped.SetMaxIdleConns(6)
	list := []string{
		work[0], "UPDATE posts SET views = views + 1 WHERE id = 1 AND views >= 1", "UPDATE posts SET views = views * 1 WHERE id = 1",
		"UPDATE posts SET views = views - 1 WHERE id = 1 AND views > 0", "SELECT views FROM posts WHERE id = 1 FOR UPDATE",
	}
	ran := make(chan bool, 6*60)
	var workers, backups sync.WaitGroup
	for i := range 6 {
		workers.Go(func() {
			for n := range 60 {
				ran <- true
				s := list[(i+n)%len(list)]
				if strings.HasPrefix(s, "SELECT") {
					if err := readAll(p.Wrapped.QueryContext(context.Background(), s)); err != nil {
						t.Errorf("%s: %v", s, err)
					}
				} else if _, err := p.Wrapped.ExecContext(context.Background(), s); err != nil {
					t.Errorf("%s: %v", s, err)
				}
			}
		})
	}
	backup := twin.Conn(t, p.Under)
	backups.Go(func() {
		n := 0
		for range ran { // one for every few statements: without a pause no drain would ever have the time for all of its own
			if n++; n%8 != 0 {
				continue
			}
			for _, q := range []string{"FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES", "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"} {
				if _, err := backup.ExecContext(context.Background(), q); err != nil {
					t.Errorf("%s: %v", q, err)
				}
			}
		}
	})
	workers.Wait()
	close(ran)
	backups.Wait()
}
