package session

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gomysql "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
)

// sent notes what each connection sends.
type sent struct {
	mu    sync.Mutex
	conns [][][]byte
}

type sentConn struct {
	net.Conn
	to *sent
	at int
}

func (c *sentConn) Write(b []byte) (int, error) {
	c.to.mu.Lock()
	c.to.conns[c.at] = append(c.to.conns[c.at], bytes.Clone(b))
	c.to.mu.Unlock()
	return c.Conn.Write(b)
}

func (s *sent) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, nil)
	return &sentConn{c, s, len(s.conns) - 1}, nil
}

// writes returns how often each connection sent something that sent a statement of that form.
func (s *sent) writes(form *regexp.Regexp) (out []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if form.Match(bytes.Join(c, nil)) {
			out = append(out, len(c))
		}
	}
	return out
}

func (s *sent) connector(t *testing.T, name, dsn string) (driver.Connector, dialect.Dialect) {
	t.Helper()
	if name == "mysql" {
		cfg, err := gomysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.DialFunc = s.dial
		c, err := gomysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c, mysql.New()
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = s.dial
	return stdlib.GetConnector(*cfg), postgres.New()
}

// Where connections come and go, each sends as much as a plain one: nothing is asked, prepared or closed on it that
// only pays on a connection that stays.
func TestShortLivedConnections(t *testing.T) {
	for _, name := range []string{"mysql", "postgres"} {
		for placement, form := range map[string]string{"adaptive": `UPDATE posts SET`, "random": `(INSERT INTO|UPDATE) \S*posts_slots`} {
			t.Run(name+" "+placement, func(t *testing.T) {
				t.Parallel()
				shortLived(t, name, placement, regexp.MustCompile(form))
			})
		}
	}
}

func shortLived(t *testing.T, name, placement string, form *regexp.Regexp) {
	t.Helper()
	p := newPair(t, name, "")
	cfg, err := slotsql.Parse([]byte(strings.Replace(config, "slots: 8", "slots: 8, placement: "+placement, 1)), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var plain, wrapped sent
	parent, _ := plain.connector(t, name, p.PlainDSN)
	inner, d := wrapped.connector(t, name, p.WrappedDSN)
	connector, err := slotsql.WrapConnector(inner, d, cfg)
	if err != nil {
		t.Fatal(err)
	}
	query := "UPDATE posts SET views = views + ? WHERE id = ?"
	if name == "postgres" {
		query = "UPDATE posts SET views = views + $1 WHERE id = $2"
	}
	const n, first = 12, 2 // the first ones read the catalog
	run := func(db *sql.DB) {
		defer db.Close()
		db.SetMaxIdleConns(0)
		for range n {
			if _, err := db.ExecContext(t.Context(), query, 1, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(sql.OpenDB(parent))
	run(sql.OpenDB(connector))
	want, got := plain.writes(regexp.MustCompile(`UPDATE posts SET`)), wrapped.writes(form)
	if len(want) != n || len(got) != n || !slices.Equal(want[first:], got[first:]) {
		t.Errorf("plain connections sent %v, wrapped ones %v", want, got)
	}
}
