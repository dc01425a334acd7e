package slotsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/ngrok/sqlmw"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/shadow"
)

var (
	_ driver.Driver        = (*wrappedDriver)(nil)
	_ driver.DriverContext = (*wrappedDriver)(nil)
	_ driver.Connector     = (*Connector)(nil)
	_ io.Closer            = (*Connector)(nil)
)

// An Option changes how a driver or connector is wrapped.
type Option func(*options) error

type options struct {
	config *config.Config
	logger *slog.Logger
}

// WithConfig gives the configuration in code; it wins over SLOTSQL_CONFIG and
// slotsql.yaml.
func WithConfig(c *config.Config) Option {
	return func(o *options) error {
		if c == nil {
			return errors.New("slotsql: WithConfig needs a configuration, got nil")
		}
		o.config = c
		return nil
	}
}

// WithLogger says where warnings go: of statements that drain a table with
// on_drain: warn, and of views that the configuration does not name. Without
// it that is slog's default logger, as it is when the warning comes.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l == nil {
			return errors.New("slotsql: WithLogger needs a logger, got nil")
		}
		o.logger = l
		return nil
	}
}

func buildOptions(cfg *config.Config, opts []Option) (*options, error) {
	o := &options{config: cfg}
	for _, opt := range opts {
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Register makes a wrapped driver available to sql.Open under the given name.
// With a nil config each sql.Open looks for one as FindConfig does. It panics,
// as sql.Register does, when the name is taken, and for a nil parent or dialect
// or a bad option.
func Register(name string, parent driver.Driver, d dialect.Dialect, cfg *config.Config, opts ...Option) {
	if parent == nil || d == nil {
		panic("slotsql: Register needs a parent driver and a dialect")
	}
	o, err := buildOptions(cfg, opts)
	if err != nil {
		panic(err)
	}
	w := &wrappedDriver{parent: parent, dialect: d, options: *o}
	sql.Register(name, w)
	registry.Store(name, w)
}

// registry holds what Register was given, by name, for Open.
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

// OpenConnector returns the connector that Open opens a database on; Check,
// Migrate, RollUp and the like take it, too. Nothing is sent to the database yet.
func OpenConnector(driverName, dsn string, opts ...Option) (*Connector, error) {
	v, ok := registry.Load(driverName)
	if !ok {
		return nil, fmt.Errorf(
			"slotsql: no wrapped driver is registered as %q: import the package of your engine, such as github.com/slotsql/slotsql/mysql",
			driverName,
		)
	}
	registered := v.(*wrappedDriver)
	o, err := buildOptions(registered.options.config, opts)
	if err == nil && o.logger == nil {
		o.logger = registered.options.logger
	}
	if err != nil {
		return nil, err
	}
	return (&wrappedDriver{parent: registered.parent, dialect: registered.dialect, options: *o}).connector(dsn)
}

// OpenDB wraps a parent driver's connector and opens a database on it.
func OpenDB(parent driver.Connector, d dialect.Dialect, cfg *config.Config, opts ...Option) (*sql.DB, error) {
	c, err := WrapConnector(parent, d, cfg, opts...)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// WrapConnector wraps a parent driver's connector. With a nil config one is
// looked for as FindConfig does. The result implements io.Closer; closing it
// closes the parent where that can be closed.
func WrapConnector(parent driver.Connector, d dialect.Dialect, cfg *config.Config, opts ...Option) (*Connector, error) {
	if parent == nil || d == nil {
		return nil, errors.New("slotsql: WrapConnector needs a parent connector and a dialect")
	}
	o, err := buildOptions(cfg, opts)
	if err != nil {
		return nil, err
	}
	return newConnector(&wrappedDriver{parent: parent.Driver(), dialect: d, options: *o}, parent)
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
	return d.connector(dsn)
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

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// Connector opens wrapped connections of one database. It implements
// driver.Connector and io.Closer; closing it closes the parent's connector where
// that can be closed. A sql.DB closes the connector that it was opened on.
type Connector struct {
	driver *wrappedDriver
	parent driver.Connector
	shell  driver.Connector // the parent's connector inside sqlmw
	shared *session.Shared
	every  *session.Shared  // the same for the tables of every mode: see mode.go
	shadow *shadow.Shadower // nil: no table is in shadow

	starting sync.Mutex
	rollUp   *rollUpStarter // inside the application; nil before it is started
	statsLog *worker        // nil before it is started
	closed   bool
}

func newConnector(d *wrappedDriver, parent driver.Connector) (*Connector, error) {
	cfg := d.options.config
	if cfg == nil {
		var err error
		if cfg, err = config.FindConfig(); err != nil {
			return nil, err
		}
	}
	c := &Connector{driver: d, parent: parent, shared: session.New(d.dialect, cfg)}
	c.shared.Logger, c.shared.Connect, c.shared.Dial = d.options.logger, parent.Connect, parent.Connect
	if c.every = c.shared.ForModes(config.Modes...); c.every != c.shared {
		c.shared.Kin = append(c.shared.Kin, c.every.Catalog)
	}
	if w := shadow.New(c.shared); w != nil {
		c.shadow, c.shared.Shadow = w, w
	}
	shell, ok := sqlmw.Driver(connectorDriver{parent}, hooks{connector: c}).(driver.DriverContext)
	if !ok {
		return nil, errors.New("slotsql: sqlmw returned a driver without connectors")
	}
	var err error
	if c.shell, err = shell.OpenConnector(""); err != nil {
		return nil, err
	}
	return c, nil
}

// connectorDriver lets sqlmw wrap a connector: it wraps drivers only.
type connectorDriver struct{ driver.Connector }

func (d connectorDriver) Open(string) (driver.Conn, error) { return d.Connect(context.Background()) }
func (d connectorDriver) OpenConnector(string) (driver.Connector, error) {
	return d.Connector, nil
}

// hooks is where sqlmw calls slotsql: a connection is made. Its other hooks
// know neither the connection nor its transaction, so the state of a session
// lives in conn, which the connector hands to database/sql without sqlmw's own
// wrapper around it: that wrapper hides what the parent's connection, results
// and rows offer beyond the common interfaces. See docs/design/shell.md.
type hooks struct {
	sqlmw.NullInterceptor
	connector *Connector
}

// handover carries the connection made by ConnectorConnect to Connect.
type handover struct{ conn *session.Conn }

type handoverKey struct{}

// ConnectorConnect implements sqlmw.Interceptor.
func (h hooks) ConnectorConnect(ctx context.Context, parent driver.Connector) (driver.Conn, error) {
	raw, err := parent.Connect(ctx)
	if err != nil {
		return nil, err
	}
	cn, err := session.NewConn(ctx, h.connector.shared, raw)
	if err != nil {
		return nil, err
	}
	if to, ok := ctx.Value(handoverKey{}).(*handover); ok {
		to.conn = cn
	}
	return cn, nil
}

// Connect implements driver.Connector. The first connection reads the facts of
// the configured tables from the database and reports every problem it finds
// as a *ConfigError.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	var to handover
	if _, err := c.shell.Connect(context.WithValue(ctx, handoverKey{}, &to)); err != nil {
		return nil, err
	}
	c.startRollUp()
	c.logStats()
	return to.conn, nil
}

// Driver implements driver.Connector.
func (c *Connector) Driver() driver.Driver { return c.driver }

// Close implements io.Closer.
func (c *Connector) Close() error {
	c.stopRollUp()
	c.shared.Close()
	c.shadow.Close()
	c.statsLog.stop() // last: it logs what has been counted until now
	if closer, ok := c.parent.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
