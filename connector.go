package slotsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/shadow"
)

var (
	_ driver.Connector = (*Connector)(nil)
	_ io.Closer        = (*Connector)(nil)
)

// Connector opens wrapped connections to one database. It implements driver.Connector and
// io.Closer. Closing it closes the parent's connector if that is an io.Closer; a sql.DB
// closes the connector that it was opened on.
//
// Check, DDL, Migrate, MigrateDown, Drain, Verify, RollUp, RunRollUp, NewExplainer and
// NewInspector take a Connector rather than a sql.DB because they also work where opening
// a connection fails, for example because slot tables are missing.
type Connector struct {
	driver *wrappedDriver
	parent driver.Connector
	shell  shell
	shared *session.Shared
	every  *session.Shared  // the same for the tables of every mode
	shadow *shadow.Shadower // nil: no table has mode shadow

	starting sync.Mutex
	rollUp   *worker // nil before it is started, and where none is configured
	statsLog *worker // likewise
	folder   folder
	closed   bool
}

// OpenConnector returns the connector on which Open would open a database, for
// sql.OpenDB, Check, Migrate, RollUp and similar functions. It does not connect yet.
func OpenConnector(driverName, dsn string, opts ...Option) (*Connector, error) {
	v, ok := registry.Load(driverName)
	if !ok {
		return nil, fmt.Errorf(
			"slotsql: no wrapped driver is registered as %q: import the package of your engine, such as github.com/slotsql/slotsql/mysql",
			driverName,
		)
	}
	registered := v.(*wrappedDriver)
	o, err := buildOptions(nil, registered.options.config, opts)
	if err != nil {
		return nil, err
	}
	if o.logger == nil {
		o.logger = registered.options.logger
	}
	if o.groups == nil {
		o.groups = registered.options.groups
	}
	return (&wrappedDriver{parent: registered.parent, dialect: registered.dialect, options: *o}).connector(dsn)
}

// WrapConnector wraps a parent driver's connector. If cfg is nil, the
// configuration is the one that FindConfig returns.
func WrapConnector(parent driver.Connector, d dialect.Dialect, cfg *Config, opts ...Option) (*Connector, error) {
	if parent == nil || d == nil {
		return nil, errors.New("slotsql: WrapConnector needs a parent connector and a dialect")
	}
	o, err := buildOptions(cfg, nil, opts)
	if err != nil {
		return nil, err
	}
	return newConnector(&wrappedDriver{parent: parent.Driver(), dialect: d, options: *o}, parent)
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
	c.shared.Logger, c.shared.Dial, c.shared.OpensAside = d.options.logger, parent.Connect, true
	c.shared.TraceGroup = d.options.groups
	if !d.options.alike {
		c.shared.ParentHooks = hooksOf(parent)
	}
	if c.every = c.shared.ForModes(config.Modes...); c.every != c.shared {
		c.shared.Role.Kin = append(c.shared.Role.Kin, c.every.Catalog)
	}
	if w := shadow.New(c.shared); w != nil {
		c.shadow, c.shared.Shadow = w, w
	}
	c.shell = shell{shared: c.shared}
	c.shared.Folding.Sleep.Start = c.startFolding
	return c, nil
}

// Connect implements driver.Connector. The first connection reads the facts of the
// configured tables from the database. Every problem that it finds is reported in one
// *ConfigError.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.shell.ConnectorConnect(ctx, c.parent)
	if err != nil {
		return nil, err
	}
	c.shared.Begin()
	c.startRollUp()
	c.lookForSlots()
	c.logStats()
	return conn, nil
}

// Driver implements driver.Connector.
func (c *Connector) Driver() driver.Driver { return c.driver }

// Close implements io.Closer. If a roll-up is moving a batch, it waits for the end of
// that batch.
func (c *Connector) Close() error {
	c.starting.Lock()
	c.closed = true
	c.starting.Unlock()
	c.rollUp.stop()
	c.folder.stop()
	c.shared.Close()
	c.shadow.Close()
	c.statsLog.stop() // last: it logs what has been counted until now
	if closer, ok := c.parent.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// worker is a goroutine that a connector runs until it is closed.
type worker struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// work starts a goroutine. The context of run ends with stop.
func work(run func(context.Context)) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		run(ctx)
	}()
	return w
}

// stop ends the goroutine, if there is one, and waits for its end.
func (w *worker) stop() {
	if w != nil {
		w.cancel()
		<-w.done
	}
}
