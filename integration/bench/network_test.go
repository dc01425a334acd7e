package bench

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
	"github.com/slotsql/slotsql/integration/twin"
	mysqlslots "github.com/slotsql/slotsql/mysql"
	pgslots "github.com/slotsql/slotsql/postgres"
)

// slowConn delays what is sent by a round trip. What is written at once
// travels at once, as on a network.
type slowConn struct {
	net.Conn
	roundTrip time.Duration
}

func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(c.roundTrip)
	return c.Conn.Write(b)
}

func slowly(ctx context.Context, network, address string, roundTrip time.Duration) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return slowConn{c, roundTrip}, nil
}

// overSlowNetwork opens both sides again, over the network of a database that is
// a round trip away: what a transaction locks stays locked for every round trip
// until its commit.
func overSlowNetwork(b *testing.B, p *twin.Pair, roundTrip time.Duration) *twin.Pair {
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
	if slow.Plain, err = openSlow(p.Dialect, p.PlainDSN, nil, roundTrip); err != nil {
		b.Fatal(err)
	}
	if slow.Wrapped, err = openSlow(p.Dialect, p.WrappedDSN, config, roundTrip); err != nil {
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

func openSlow(dialect, dsn string, config *slotsql.Config, roundTrip time.Duration) (*sql.DB, error) {
	if dialect == "mysql" {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, err
		}
		network := c.Net
		c.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
			return slowly(ctx, network, address, roundTrip)
		}
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
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return slowly(ctx, network, address, roundTrip)
	}
	connector := stdlib.GetConnector(*c)
	if config == nil {
		return sql.OpenDB(connector), nil
	}
	return slotsql.OpenDB(connector, pgslots.Dialect(), config)
}
