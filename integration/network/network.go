// Package network reaches database servers as if they were a round trip away: what a transaction locks stays locked for every
// round trip until its commit. Throwaway servers are on the same machine, where that takes no time.
package network

import (
	"context"
	"database/sql/driver"
	"net"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/mysql"
	"github.com/slotsql/slotsql/postgres"
)

// Connector returns the plain driver's connector for a DSN of an engine, mysql or postgres, and slotsql's dialect for it.
// A round trip of zero adds nothing.
func Connector(engine, dsn string, roundTrip time.Duration) (driver.Connector, dialect.Dialect, error) {
	if engine == "mysql" {
		c, err := mysqldriver.ParseDSN(dsn)
		if err != nil {
			return nil, nil, err
		}
		network := c.Net
		c.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
			return dial(ctx, network, address, roundTrip)
		}
		connector, err := mysqldriver.NewConnector(c)
		return connector, mysql.Dialect(), err
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, err
	}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, address, roundTrip)
	}
	return stdlib.GetConnector(*c), postgres.Dialect(), nil
}

func dial(ctx context.Context, network, address string, roundTrip time.Duration) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || roundTrip == 0 {
		return c, err
	}
	return slowConn{c, roundTrip}, nil
}

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
