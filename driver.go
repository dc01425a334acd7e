package slotsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"

	"github.com/slotsql/slotsql/dialect"
)

var (
	_ driver.Driver        = (*wrappedDriver)(nil)
	_ driver.DriverContext = (*wrappedDriver)(nil)
)

// Register makes a wrapped driver available to sql.Open under the given name. With a nil
// config each sql.Open looks for one as FindConfig does. It panics if the name is taken,
// as sql.Register does, if parent or dialect is nil, or if the configuration or an option is invalid.
func Register(name string, parent driver.Driver, d dialect.Dialect, cfg *Config, opts ...Option) {
	if parent == nil || d == nil {
		panic("slotsql: Register needs a parent driver and a dialect")
	}
	o, err := buildOptions(cfg, nil, opts)
	if err != nil {
		panic(err)
	}
	w := &wrappedDriver{parent: parent, dialect: d, options: *o}
	sql.Register(name, w)
	registry.Store(name, w)
}

// registry holds what Register was given, by name, for OpenConnector.
var registry sync.Map // string -> *wrappedDriver

// Open opens a database as sql.Open does, with options: driverName is a name
// given to Register, such as "mysql-slotsql".
func Open(driverName, dsn string, opts ...Option) (*sql.DB, error) {
	c, err := OpenConnector(driverName, dsn, opts...)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// OpenDB wraps a parent driver's connector and opens a database on it. If cfg is
// nil, the configuration is the one that FindConfig returns.
func OpenDB(parent driver.Connector, d dialect.Dialect, cfg *Config, opts ...Option) (*sql.DB, error) {
	c, err := WrapConnector(parent, d, cfg, opts...)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// wrappedDriver is a registered driver.
type wrappedDriver struct {
	parent  driver.Driver
	dialect dialect.Dialect
	options options
}

// Open implements driver.Driver; database/sql calls OpenConnector instead.
func (d *wrappedDriver) Open(dsn string) (driver.Conn, error) {
	c, err := d.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

// OpenConnector implements driver.DriverContext.
func (d *wrappedDriver) OpenConnector(dsn string) (driver.Connector, error) {
	c, err := d.connector(dsn)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *wrappedDriver) connector(dsn string) (*Connector, error) {
	dc, ok := d.parent.(driver.DriverContext)
	if !ok {
		return newConnector(d, dsnConnector{d.parent, dsn})
	}
	parent, err := dc.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	return newConnector(d, parent)
}

// dsnConnector opens connections of a driver that has no connectors.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

// Connect implements driver.Connector.
func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver implements driver.Connector.
func (c dsnConnector) Driver() driver.Driver { return c.driver }
