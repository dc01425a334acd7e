package integration

import (
	"context"
	"database/sql"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql"
	mysqlslots "github.com/slotsql/slotsql/mysql"
	pgslots "github.com/slotsql/slotsql/postgres"

	"github.com/slotsql/slotsql/integration/twin"
)

// slowNetwork is the network of a database that is one millisecond away, in
// the same data centre perhaps: what a transaction locks stays locked for
// every round trip until its commit.
const slowNetwork = "slow"

const roundTrip = time.Millisecond

// slowConn delays what is sent by a round trip. What is written at once
// travels at once, as on a network.
type slowConn struct{ net.Conn }

func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(roundTrip)
	return c.Conn.Write(b)
}

func slowly(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return slowConn{c}, nil
}

// overSlowNetwork opens both sides again, over a slow network.
func overSlowNetwork(b *testing.B, p *twin.Pair) *twin.Pair {
	b.Helper()
	text, err := os.ReadFile(p.ConfigPath)
	if err != nil {
		b.Fatal(err)
	}
	config, err := slotsql.Parse(text, p.ConfigPath)
	if err != nil {
		b.Fatal(err)
	}
	slow := *p
	if slow.Plain, err = openSlow(p.Dialect, p.PlainDSN, nil); err != nil {
		b.Fatal(err)
	}
	if slow.Wrapped, err = openSlow(p.Dialect, p.WrappedDSN, config); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, db := range []*sql.DB{slow.Plain, slow.Wrapped} {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		}
	})
	return &slow
}

func openSlow(dialect, dsn string, config *slotsql.Config) (*sql.DB, error) {
	if dialect == "mysql" {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, err
		}
		network := c.Net
		c.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return slowly(ctx, network, address) }
		connector, err := mysql.NewConnector(c)
		if err != nil || config == nil {
			return sql.OpenDB(connector), err
		}
		return slotsql.OpenDB(connector, mysqlslots.Dialect(), config)
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	c.DialFunc = slowly
	connector := stdlib.GetConnector(*c)
	if config == nil {
		return sql.OpenDB(connector), nil
	}
	return slotsql.OpenDB(connector, pgslots.Dialect(), config)
}
