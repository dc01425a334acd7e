package slotsql

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// catalog is what is known of the configured tables of a database: the
// configuration, and the facts of each namespace that sessions have used.
type catalog struct {
	database
	config   *Config
	tables   []TableConfig
	folded   []string // lower-case names of the configured tables
	journals bool     // some table's layout is a journal

	viewDDL   atomic.Bool              // some statement has created or changed a view
	viewNames atomic.Pointer[[]string] // of views over configured tables, lower-case
	wideNames atomic.Bool              // one of these names, or of the tables', has characters beyond ASCII
	logger    *slog.Logger             // nil: slog's default one

	changes atomic.Int64 // of the schema, as far as noticed
	ddl     atomic.Int64 // statements that may have changed the schema of any table
	watch   watch        // which notices those of other clients

	reported map[string]bool // what has been reported of tables, once
	retired  retirements

	auditing bool        // nothing is refused for what it holds: it is to be found
	beside   bool        // the connector has another one, which runs the application's statements
	kin      []*catalog  // those of which this is the other one
	dry      bool        // it only plans: see shadow.go
	shutsOut atomic.Bool // a transaction has kept out who read facts aside

	newNames  func()                       // called when statements may concern a counter table by another name than before
	firstRead func(context.Context, *view) // called when the facts of the home namespace have been read for the first time

	mu      sync.Mutex
	schemas map[string]*schema               // by namespace
	far     map[dialect.WrittenName][]string // views over tables from other databases; nil: not known
	first   *schema                          // of a connection that has changed nothing
	reading *reading                         // of the home namespace's facts, that is under way
	home    string                           // its namespace
}

func newCatalog(d dialect.Dialect, config *Config, tables []TableConfig) *catalog {
	s := &catalog{database: database{dialect: d, traits: d.Traits(), patience: endPatience, sharing: true}, config: config, tables: tables,
		schemas: map[string]*schema{}, reported: map[string]bool{}, newNames: func() {}, firstRead: func(context.Context, *view) {}}
	for _, t := range s.tables {
		s.journals = s.journals || t.Layout == "journal"
		s.folded = append(s.folded, strings.ToLower(rewrite.Spelled(t.Table)))
		s.wideNames.Store(s.wideNames.Load() || !ascii(t.Table))
	}
	return s
}

// log returns where warnings go.
func (s *catalog) log() *slog.Logger {
	if s.logger != nil {
		return s.logger
	}
	return slog.Default()
}

// mentions says whether a text can concern a configured table at all.
func (s *catalog) mentions(text string) bool {
	for _, name := range s.folded {
		if rewrite.ContainsFold(text, name) {
			return true
		}
	}
	if views := s.viewNames.Load(); views != nil {
		for _, name := range *views {
			if rewrite.ContainsFold(text, name) {
				return true
			}
		}
	}
	return rewrite.EscapedNames(s.dialect.Lexis(), text)
}

// load returns the facts that hold in the session's namespace.
func (s *catalog) load(ctx context.Context, v *view, how loading) (*schema, error) {
	namespace, err := s.dialect.Namespace(ctx, v.session())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	how.home = namespace == s.home
	sc := s.schemas[namespace]
	s.mu.Unlock()
	if !how.private && sc != nil && !sc.stale() {
		return sc, nil
	}
	if sc, err = s.read(ctx, v, how, namespace); err != nil || how.private || sc.partial {
		return sc, err
	}
	s.mu.Lock()
	s.schemas[namespace] = sc
	s.mu.Unlock()
	return sc, nil
}

// read reads the facts of a namespace.
func (s *catalog) read(ctx context.Context, v *view, how loading, namespace string) (*schema, error) {
	sc, err := s.marked(ctx, v, how, func() (*schema, error) { return loadSchema(ctx, s, v, namespace, how.strict) })
	if err == nil {
		sc.namespace = namespace
	}
	return sc, err
}

// expire marks all facts as out of date, and returns the number of changes that
// have been noticed with this one.
func (s *catalog) expire() int64 {
	n := s.changes.Add(1)
	s.watch.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.schemas)
	for _, k := range s.kin {
		k.expire()
	}
	return n
}

func asConfigError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &ConfigError{Problems: problems}
}

// loading says how facts are read. In the namespace the connector opens with
// (strict) every configured table must be there and fit; in any other one a
// table that is missing is simply not a counter table. Private facts are those
// of one session: it may see tables that others do not.
// Those of the home namespace are read on a session as the connector opens it.
// Renew: those in use are known to be out of date.
type loading struct{ strict, private, home, renew bool }

// configOf returns the configuration of a counter table.
func (s *catalog) configOf(t *rewrite.Table) *TableConfig {
	for i := range s.tables {
		cfg := &s.tables[i]
		if s.dialect.SameTable(rewrite.Ident{Name: cfg.Table, Quoted: true}, t.Name) &&
			(cfg.Schema == "" || s.dialect.SameTable(rewrite.Ident{Name: cfg.Schema, Quoted: true}, t.Schema)) {
			return cfg
		}
	}
	return &TableConfig{}
}
