package catalog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// Catalog is what is known of the configured tables of a database: the
// configuration, and the facts of each namespace that sessions have used.
type Catalog struct {
	link.Database
	Config   *config.Config
	Tables   []config.TableConfig
	Journals bool // some table's layout is a journal

	ViewDDL   atomic.Bool                       // some statement has created or changed a view
	ViewNames atomic.Pointer[[]string]          // of views over configured tables, lower-case
	names     atomic.Pointer[rewrite.NameIndex] // the configured tables' and these
	wideNames atomic.Bool                       // one of these names, or of the tables', has characters beyond ASCII
	Logger    *slog.Logger                      // nil: slog's default one

	Changes atomic.Int64 // of the schema, as far as noticed
	Ddl     atomic.Int64 // statements that may have changed the schema of any table
	Watch   watch        // which notices those of other clients

	reported map[string]bool // what has been reported of tables, once
	absent   absences
	retired  retirements

	Auditing bool        // nothing is refused for what it holds: it is to be found
	Beside   bool        // the connector has another one, which runs the application's statements
	Kin      []*Catalog  // those of which this is the other one
	Dry      bool        // it only plans: see package shadow
	shutsOut atomic.Bool // a transaction has kept out who read facts aside

	NewNames  func()                       // called when statements may concern a counter table by another name than before
	FirstRead func(context.Context, *View) // called when the facts of the home namespace first have a counter table

	mu      sync.Mutex
	schemas map[string]*Schema               // by namespace
	far     map[dialect.WrittenName][]string // views over tables from other databases; nil: not known
	First   *Schema                          // of a connection that has changed nothing
	started bool                             // FirstRead has been called
	reading *reading                         // of the home namespace's facts, that is under way
	home    string                           // its namespace
}

// NewCatalog returns a catalog of tables, some or all of the configuration's, of
// which nothing is known yet.
func NewCatalog(d dialect.Dialect, cfg *config.Config, tables []config.TableConfig) *Catalog {
	s := &Catalog{
		Database:  link.Database{Dialect: d, Traits: d.Traits(), Patience: link.EndPatience, Sharing: true},
		Config:    cfg,
		Tables:    slices.Clone(tables),
		schemas:   map[string]*Schema{},
		reported:  map[string]bool{},
		absent:    absences{after: reportAgain},
		NewNames:  func() {},
		FirstRead: func(context.Context, *View) {},
	}
	for i := range s.Tables {
		s.Tables[i].Bind(engineSlots(s.Traits))
	}
	for _, t := range s.Tables {
		s.Journals = s.Journals || t.Layout == rewrite.LayoutJournal
		s.wideNames.Store(s.wideNames.Load() || !ascii(t.Table))
	}
	s.nameViews(nil)
	return s
}

// Log returns where warnings go.
func (c *Catalog) Log() *slog.Logger {
	if c.Logger != nil {
		return c.Logger
	}
	return slog.Default()
}

// Mentions reports whether a statement can concern a configured table at all.
func (c *Catalog) Mentions(text string) bool {
	return c.names.Load().In(text) || rewrite.EscapedNames(c.Dialect.Lexis(), text)
}

// nameViews sets the names of views over the configured tables.
func (c *Catalog) nameViews(views []string) {
	names := slices.Clone(views)
	for _, t := range c.Tables {
		names = append(names, t.Table)
	}
	c.names.Store(rewrite.NewNameIndex(names))
	if len(views) > 0 {
		c.ViewNames.Store(&views)
	}
}

// load returns the facts that hold in the session's namespace.
func (c *Catalog) load(ctx context.Context, v *View, how loading) (*Schema, error) {
	namespace, err := c.Dialect.Namespace(ctx, v.Session())
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	how.home = namespace == c.home
	sc := c.schemas[namespace]
	c.mu.Unlock()
	if !how.private && sc != nil && !sc.Stale() {
		return sc, nil
	}
	if sc, err = c.read(ctx, v, how, namespace); err != nil || how.private || sc.partial {
		return sc, err
	}
	c.mu.Lock()
	c.schemas[namespace] = sc
	c.mu.Unlock()
	return sc, nil
}

// read reads the facts of a namespace.
func (c *Catalog) read(ctx context.Context, v *View, how loading, namespace string) (*Schema, error) {
	sc, err := c.marked(ctx, v, how, func() (*Schema, error) { return loadSchema(ctx, c, v, namespace, how) })
	if err == nil {
		sc.namespace = namespace
	}
	return sc, err
}

// Expire marks all facts as out of date, and returns the number of changes that
// have been noticed with this one.
func (c *Catalog) Expire() int64 {
	n := c.Changes.Add(1)
	c.Watch.forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.schemas)
	for _, k := range c.Kin {
		k.Expire()
	}
	return n
}

// AsConfigError returns the problems as one *config.ConfigError; nil for none.
func AsConfigError(problems []config.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &config.ConfigError{Problems: problems}
}

// loading says how facts are read. In the namespace the connector opens with
// (strict) every configured table that is there must fit; in any other one
// a table that is missing is simply not a counter table. Private facts are those
// of one session: it may see tables that others do not.
// Those of the home namespace are read on a session as the connector opens it.
// Renew: those in use are known to be out of date.
type loading struct{ strict, private, home, renew bool }

// ConfigOf returns the configuration of a counter table.
func (c *Catalog) ConfigOf(t *rewrite.Table) *config.TableConfig {
	for i := range c.Tables {
		cfg := &c.Tables[i]
		if c.Dialect.SameTable(rewrite.Ident{Name: cfg.Table, Quoted: true}, t.Name) &&
			(cfg.Schema == "" || c.Dialect.SameTable(rewrite.Ident{Name: cfg.Schema, Quoted: true}, t.Schema)) {
			return cfg
		}
	}
	return &config.TableConfig{}
}
