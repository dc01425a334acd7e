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
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Catalog is what is known about the configured tables of a database: the configuration, and the
// facts of each namespace that sessions have used.
type Catalog struct {
	link.Database
	Config *config.Config
	Tables []config.TableConfig
	Logger *slog.Logger // nil: slog's default one
	Role   Role
	Hooks  Hooks

	Names   Names
	Noticed Noticed
	Watch   watch // which notices what other clients change
	notes   tableNotes

	mu      sync.Mutex
	Home    home
	schemas map[string]*Schema               // by namespace: what load has read, and has not dropped
	loads   atomic.Int64                     // of facts by sessions
	far     map[dialect.WrittenName][]string // views over tables from other databases; nil: not known
}

// Role is what a catalog is for, if a connector has more than one.
type Role struct {
	Beside bool       // the connector has another one, which runs the application's statements
	Dry    bool       // it only plans: see package shadow
	Kin    []*Catalog // the others of the connector, which go out of date together with this one
}

// Hooks are called when a catalog learns something that others depend on.
type Hooks struct {
	NewNames  func()                       // statements may concern a counter table by another name than before
	FirstRead func(context.Context, *View) // the facts of the home namespace have a counter table for the first time
}

// Noticed counts changes of the schema.
type Noticed struct {
	Changes atomic.Int64 // as far as noticed
	DDL     atomic.Int64 // statements that may have changed the schema of any table
	News    atomic.Int64 // anything for which a session has to examine whether its facts and plans still hold: see View.Ready
}

// home is the namespace that connections open with. Its facts are used by sessions that have
// changed nothing. The catalog's mu guards it.
type home struct {
	namespace string
	settings  string   // of the connector's first session
	Facts     *Schema  // nil until they have been read
	reading   *reading // in progress; nil: none
	started   bool     // Hooks.FirstRead has been called
}

// tableNotes remember tables that do not fit, so that each problem is reported once, and acted on
// in time.
type tableNotes struct {
	reported map[string]bool
	absent   absences
	retired  retirements
	remarks  remarks
}

// NewCatalog returns a catalog of some or all of the configured tables, about which nothing is
// known yet.
func NewCatalog(d dialect.Dialect, cfg *config.Config, tables []config.TableConfig) *Catalog {
	s := &Catalog{
		Database: link.NewDatabase(d),
		Config:   cfg,
		Tables:   slices.Clone(tables),
		schemas:  map[string]*Schema{},
		notes: tableNotes{
			reported: map[string]bool{}, absent: absences{after: reportAgain}, remarks: remarks{after: settling, found: map[string]*remark{}},
		},
		Hooks: Hooks{NewNames: func() {}, FirstRead: func(context.Context, *View) {}},
	}
	for i := range s.Tables {
		s.Tables[i].Bind(engineSlots(s.Traits))
	}
	s.Names.index.Store(lex.NewNameIndex(s.tableNames()))
	s.Names.widen(s.tableNames())
	return s
}

// Log returns where warnings go.
func (c *Catalog) Log() *slog.Logger {
	if c.Logger != nil {
		return c.Logger
	}
	return slog.Default()
}

// load returns the facts that hold in the session's namespace.
func (c *Catalog) load(ctx context.Context, v *View, how loading) (*Schema, error) {
	namespace, err := v.namespace(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	how.home = namespace == c.Home.namespace
	sc := c.schemas[namespace]
	c.mu.Unlock()
	if how.purpose != forSession && sc != nil && !sc.Stale() {
		sc.fresh.loaded.Store(c.loads.Add(1))
		return sc, nil
	}
	if sc, err = c.read(ctx, v, how, namespace); err != nil || how.purpose == forSession || sc.fresh.partial {
		return sc, err
	}
	return c.keep(sc), nil
}

// kept returns the facts of a namespace; nil if they have to be read.
func (c *Catalog) kept(namespace string) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	sc := c.schemas[namespace]
	if sc == nil || sc.Stale() {
		return nil
	}
	sc.fresh.loaded.Store(c.loads.Add(1))
	return sc
}

// atHome reports whether a session is in the home namespace. It is asked only if it may be in
// another.
func (c *Catalog) atHome(ctx context.Context, v *View) bool {
	if !c.ParentHooks.Any() && !v.Rare.Any(link.ChangedSettings) {
		return true
	}
	namespace, err := v.namespace(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && namespace == c.Home.namespace
}

// maxNamespaces is how many namespaces facts are kept of: an application may have one for each of its tenants.
const maxNamespaces = 256

// keep keeps the facts of a namespace, and returns those that all its sessions are to use. Of too many namespaces the one
// that no session has loaded for the longest time is dropped: sessions that still use its facts load them again.
func (c *Catalog) keep(sc *Schema) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.schemas[sc.namespace]; old != nil && !old.Stale() {
		return old // read at the same time; names that are looked up are to be found in one place, see inUse
	}
	sc.fresh.loaded.Store(c.loads.Add(1))
	c.schemas[sc.namespace] = sc
	if len(c.schemas) > maxNamespaces {
		oldest := sc
		for _, other := range c.schemas {
			if other != c.Home.Facts && other.fresh.loaded.Load() < oldest.fresh.loaded.Load() {
				oldest = other
			}
		}
		delete(c.schemas, oldest.namespace)
		oldest.fresh.dropped.Store(true)
		c.Noticed.News.Add(1)
	}
	return sc
}

// read reads the facts of a namespace.
func (c *Catalog) read(ctx context.Context, v *View, how loading, namespace string) (*Schema, error) {
	for tries := 1; ; tries++ {
		how.migrated = tries > 3
		sc, err := c.readWithMarks(ctx, v, how, func() (*Schema, error) { return loadSchema(ctx, c, v, namespace, how) })
		if err != nil {
			return nil, err
		}
		if sc != nil {
			sc.namespace = namespace
			return sc, nil
		}
	}
}

// Expire marks all facts as out of date, and returns the number of changes that
// have been noticed with this one.
func (c *Catalog) Expire() int64 {
	n := c.Noticed.Changes.Add(1)
	c.Noticed.News.Add(1)
	c.Watch.forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.schemas)
	for _, k := range c.Role.Kin {
		k.Expire()
	}
	return n
}

// Journals reports whether some table's layout is a journal.
func (c *Catalog) Journals() bool {
	return slices.ContainsFunc(c.Tables, func(t config.TableConfig) bool { return t.Layout == schema.LayoutJournal })
}

// AsConfigError returns the problems as one *config.ConfigError; nil for none.
func AsConfigError(problems []config.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &config.ConfigError{Problems: problems}
}

// loading is what facts are read for.
type loading struct {
	purpose  purpose
	home     bool // in the namespace that the connector opens with, where marks are noted and absent tables reported
	migrated bool // slot tables have been created each time that the facts were read: no others are created
}

// purpose is who is to use the facts.
type purpose byte

const (
	// forNamespace: the sessions of one namespace. A configured table that does not exist there is
	// simply not a counter table.
	forNamespace purpose = iota
	// forSession: one session, and no other. It may see tables that others do not.
	forSession
	// forStart: the connector, which has no facts yet. Every configured table that exists must
	// fit.
	forStart
	// forRenewal: the connector, whose facts are known to be out of date.
	forRenewal
)

// homeLoading returns how the facts of the home namespace are read, on a session as the connector
// opens it. First reports whether there are none yet.
func homeLoading(first bool) loading {
	if first {
		return loading{purpose: forStart, home: true}
	}
	return loading{purpose: forNamespace, home: true}
}

// closest returns the configured tables, with those first that are configured with their schema:
// these win if two may mean the same table of the database.
func (c *Catalog) closest() []*config.TableConfig {
	var named, bare []*config.TableConfig
	for i := range c.Tables {
		if cfg := &c.Tables[i]; cfg.Schema != "" {
			named = append(named, cfg)
		} else {
			bare = append(bare, cfg)
		}
	}
	return append(named, bare...)
}

// ConfigOf returns the configuration of a counter table.
func (c *Catalog) ConfigOf(t *schema.Table) *config.TableConfig {
	for _, cfg := range c.closest() {
		if c.Dialect.SameTable(ast.Ident{Name: cfg.Table, Quoted: true}, t.Name) &&
			(cfg.Schema == "" || c.Dialect.SameTable(ast.Ident{Name: cfg.Schema, Quoted: true}, t.Schema)) {
			return cfg
		}
	}
	return &config.TableConfig{}
}
