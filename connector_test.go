package slotsql

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/internal/config"
)

// closing is a parent's connector that notes its end.
type closing struct{ closed *bool }

func (c closing) Connect(context.Context) (driver.Conn, error) { return nil, driver.ErrBadConn }
func (c closing) Driver() driver.Driver                        { return nil }
func (c closing) Close() error                                 { *c.closed = true; return nil }

// A connector closes its parent where that can be closed.
func TestConnectorClose(t *testing.T) {
	cfg, err := config.Parse([]byte("version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	for _, parent := range []driver.Connector{closing{&closed}, struct{ driver.Connector }{closing{&closed}}} {
		c, err := WrapConnector(parent, sqlite.New(), ConfigOf(cfg))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if !closed {
		t.Error("the parent is not closed")
	}
}
