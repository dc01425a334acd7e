package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
)

// testConnector opens wrapped connections, as slotsql.Connector does.
type testConnector struct {
	parent driver.Connector
	shared *Shared
}

func (c *testConnector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.parent.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return NewConn(ctx, c.shared, raw)
}

func (c *testConnector) Driver() driver.Driver { return nil }

func (c *testConnector) Close() error {
	c.shared.Close()
	if p, ok := c.parent.(io.Closer); ok {
		return p.Close()
	}
	return nil
}

// wrap wraps a parent's connector with a configuration.
func wrap(t testing.TB, parent driver.Connector, d dialect.Dialect, yaml string) *testConnector {
	t.Helper()
	parsed, err := config.Parse([]byte(yaml), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := New(d, parsed)
	s.Dial, s.OpensAside = parent.Connect, true
	return &testConnector{parent: parent, shared: s}
}

// openFake opens a wrapped database on a fake parent.
func openFake(t testing.TB, d dialect.Dialect, c driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(wrap(t, c, d, "version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"))
	t.Cleanup(func() { _ = db.Close() })
	return db
}
