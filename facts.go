package slotsql

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// This file keeps what a connection knows of the database up to date: it finds
// the plan of a text, and notes what a text that has run may have changed.

// refresh makes c.schema the facts of the session's namespace as it is now.
func (c *view) refresh(ctx context.Context) error {
	if c.schema != nil && !c.moved && !c.schema.stale() {
		return nil
	}
	s := c.catalog
	if !c.private && c.schema != nil {
		namespace := c.schema.namespace
		if c.moved {
			var err error
			if namespace, err = s.dialect.Namespace(ctx, c.session()); err != nil {
				return err
			}
		}
		s.mu.Lock()
		sc, home := s.first, s.home
		s.mu.Unlock()
		switch {
		case namespace != home:
		case sc != nil && !sc.stale():
			c.schema, c.moved = sc, false
			return nil
		default:
			return c.readAgain(ctx)
		}
	}
	return c.aside(ctx, func(v *view) error {
		sc, err := s.load(ctx, v, loading{private: c.private})
		if err != nil {
			return err
		}
		c.schema, c.moved = sc, false
		return nil
	})
}

// aside has facts read on a session of its own where reading them on this one
// would show: SQLite's deferred transaction begins to see the database with its
// first read, and cannot write when another connection has since then. If that
// read is slotsql's, the application's first UPDATE would be told
// SQLITE_BUSY_SNAPSHOT, where plain waits for its turn. What cannot be read aside,
// because this transaction keeps all others out, is read here; a database where
// that happens is one where even opening a connection may wait, so it is tried once.
func (c *view) aside(ctx context.Context, read func(*view) error) error {
	d, ok := c.catalog.dialect.(dialect.SnapshotAware)
	apart := ok && c.untouched && c.lasting && c.ordinary() && c.catalog.connect != nil && !c.catalog.shutsOut.Load()
	if apart {
		err := c.readAside(ctx, d, read)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.catalog.shutsOut.Store(true)
	}
	return read(c)
}

func (c *view) readAside(ctx context.Context, d dialect.SnapshotAware, read func(*view) error) error {
	raw, err := c.catalog.connect(ctx)
	if err != nil {
		return err
	}
	defer raw.Close()
	other := newView(c.catalog, raw)
	for _, q := range d.AsideSession() {
		if err := other.session().Exec(ctx, q); err != nil {
			return err
		}
	}
	return read(other)
}

// begins says that a text that has been run may have begun a transaction whose
// first read is still to come.
func (c *view) begins(text string) bool {
	d, ok := c.catalog.dialect.(dialect.SnapshotAware)
	return ok && d.Defers(text)
}

// committed says that a change of the schema that has just been made holds for
// everybody.
func (c *view) committed() bool {
	if c.engine.watcher == nil && !c.catalog.traits.DDLCommits {
		return !c.lasting && !c.tx.byText
	}
	return c.catalog.traits.DDLCommits || c.engine.watcher != nil && !c.engine.watcher.ConnInTransaction(c.parent)
}

// ofTemporary reports whether a text creates or drops a temporary table, and
// changes nothing else of the schema.
func ofTemporary(lx *rewrite.Lexis, text string) bool {
	if len(text) > maxCachedText {
		return false
	}
	first, temporary := "", false
	at := 0 // of CREATE or INTO
	for i, t := range rewrite.Tokens(lx, text) {
		word := strings.ToUpper(text[t.Start:t.End])
		switch {
		case word == ";":
			return false
		case i == 0:
			first = word
		case word == "INTO" && (first == "SELECT" || first == "WITH"):
			at = i
		case word == "TEMP" || word == "TEMPORARY":
			temporary = temporary || i < at+3 && (at > 0 || first == "CREATE" || first == "DROP")
		}
	}
	return temporary
}

// settleFacts notes that a transaction may have ended, or has: what it changed
// in the schema now holds for everybody, or for nobody.
func (c *view) settleFacts(ended bool) {
	if !c.altered && !c.adrift && (!c.private || c.otherRole) {
		return
	}
	c.moved = true
	if c.altered {
		c.catalog.expire()
	}
	if ended || c.committed() {
		c.altered, c.adrift, c.private = false, false, c.temp || c.otherRole
	}
}

// learnFrom has the facts read again when an error may mean that they are wrong;
// it may also be the application's own mistake, again and again. So the configured
// tables are looked at, and read if they have changed, and what is known of other
// tables is looked up anew.
func (c *view) learnFrom(err error) {
	switch {
	case !c.engine.schemaChanged(err):
	case c.schema == nil || c.catalog.traits.OneWriter || !c.catalog.aside():
		c.catalog.expire()
	default:
		c.catalog.watch.due()
		c.schema.forgetOthers()
	}
}
