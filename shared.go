package slotsql

import (
	"context"
	"database/sql/driver"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// shared is what the connections of one connector share: the configuration,
// the facts of the database per namespace, and the slot numbers in use.
type shared struct {
	dialect dialect.Dialect
	traits  rewrite.Traits // of the dialect
	config  *Config
	tables  []TableConfig
	folded  []string // lower-case names of the configured tables

	untouched planCache                // texts that name no configured table
	viewDDL   atomic.Bool              // some text has created or changed a view
	viewNames atomic.Pointer[[]string] // of views over configured tables, lower-case
	wideNames atomic.Bool              // one of these names, or of the tables', has characters beyond ASCII
	patience  time.Duration
	logger    *slog.Logger // nil: slog's default one

	changes atomic.Int64 // of the schema, as far as noticed
	ddl     atomic.Int64 // statements that may have changed the schema of any table
	watch   watch        // which notices those of other clients

	meeting sync.Mutex // held while the first connection meets its server
	met     bool
	single  atomic.Bool // the server is in no cluster

	reported map[string]bool // what has been reported of tables, once
	retired  retirements

	rolling  atomic.Bool // a roll-up runs inside the application
	made     madeSlots
	journals bool // some table's layout is a journal

	auditing bool // nothing is refused for what it holds: it is to be found

	beside bool      // the connector has another one, which runs the application's statements
	kin    []*shared // those of which this is the other one
	over   *shared   // that one
	dry    bool      // it only plans: see shadow.go
	shadow *shadower // nil: no table is in shadow

	placement *placement
	coalescer *coalescer
	witness   *witness
	warned    warnings
	observers observers
	habits    habits
	sharing   bool // sessions may share a statement: see dialect.SessionAware

	connect  func(context.Context) (driver.Conn, error) // opens the parent's connections; nil: nobody can
	shutsOut atomic.Bool                                // a transaction has kept out who read facts aside

	mu      sync.Mutex
	schemas map[string]*schema               // by namespace
	far     map[dialect.WrittenName][]string // views over tables from other databases; nil: not known
	first   *schema                          // of a connection that has changed nothing
	reading *reading                         // of the home namespace's facts, that is under way
	home    string                           // its namespace
	slots   []bool                           // numbers in use by live connections
}

func sharedOf(d dialect.Dialect, config *Config, tables []TableConfig) *shared {
	s := &shared{dialect: d, traits: d.Traits(), config: config, tables: tables, schemas: map[string]*schema{}, reported: map[string]bool{}, patience: endPatience, placement: newPlacement(), witness: newWitness(), coalescer: newCoalescer(), made: madeSlots{wake: make(chan struct{}, 1), journal: make(chan struct{}, 1)}, sharing: true}
	for _, t := range s.tables {
		s.journals = s.journals || t.Layout == "journal"
		s.folded = append(s.folded, strings.ToLower(rewrite.Spelled(t.Table)))
		s.wideNames.Store(s.wideNames.Load() || !ascii(t.Table))
	}
	return s
}

// log returns where warnings go.
func (s *shared) log() *slog.Logger {
	if s.logger != nil {
		return s.logger
	}
	return slog.Default()
}

// meet lets the dialect learn what depends on the server, once, before any
// connection uses it.
func (s *shared) meet(ctx context.Context, parent driver.Conn) error {
	s.meeting.Lock()
	defer s.meeting.Unlock()
	if s.met {
		return nil
	}
	c := wrapConn(s, parent)
	if d, ok := s.dialect.(dialect.ServerAware); ok {
		adjusted, err := d.ForServer(ctx, &c.session)
		if err != nil {
			return err
		}
		s.dialect, s.traits = adjusted, adjusted.Traits()
	}
	if d, ok := s.dialect.(dialect.SessionAware); ok {
		var err error
		if s.sharing, err = d.Shares(ctx, &c.session); err != nil {
			return err
		}
	}
	s.met = true
	return nil
}

// takeSlot returns the lowest number that no live connection of this connector
// holds.
func (s *shared) takeSlot() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, used := range s.slots {
		if !used {
			s.slots[i] = true
			return i
		}
	}
	s.slots = append(s.slots, true)
	return len(s.slots) - 1
}

func (s *shared) freeSlot(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[n] = false
}

// mentions says whether a text can concern a configured table at all.
func (s *shared) mentions(text string) bool {
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

// loading says how facts are read. In the namespace the connector opens with
// (strict) every configured table must be there and fit; in any other one a
// table that is missing is simply not a counter table. Private facts are those
// of one session: it may see tables that others do not.
// Those of the home namespace are read on a session as the connector opens it.
// Renew: those in use are known to be out of date.
type loading struct{ strict, private, home, renew bool }

// load returns the facts that hold in the session's namespace.
func (s *shared) load(ctx context.Context, ss *session, how loading) (*schema, error) {
	namespace, err := s.dialect.Namespace(ctx, ss)
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
	if sc, err = s.read(ctx, ss, how, namespace); err != nil || how.private || sc.partial {
		return sc, err
	}
	s.mu.Lock()
	s.schemas[namespace] = sc
	s.mu.Unlock()
	return sc, nil
}

// read reads the facts of a namespace.
func (s *shared) read(ctx context.Context, ss *session, how loading, namespace string) (*schema, error) {
	sc, err := s.marked(ctx, ss, how, func() (*schema, error) { return loadSchema(ctx, s, ss, namespace, how.strict) })
	if err == nil {
		sc.namespace = namespace
	}
	return sc, err
}

// expire marks all facts as out of date, and returns the number of changes that
// have been noticed with this one.
func (s *shared) expire() int64 {
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
