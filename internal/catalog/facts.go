package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// This file keeps what a connection knows of the database up to date: it finds
// the plan of a statement, and notes what a statement that has run may have changed.

// Refresh makes v.Schema the facts of the session's namespace as it is now.
func (v *View) Refresh(ctx context.Context) error {
	// What has been read in a transaction lacks the slot tables that could not be made there.
	ended := v.Schema != nil && v.Schema.fresh.partial && v.Tx.None()
	if v.Schema != nil && !v.Facts.Old() && !v.Schema.Stale() && !ended {
		return nil
	}
	s := v.Catalog
	if !v.Facts.Private() && v.Schema != nil {
		namespace := v.Schema.namespace
		if v.Facts.Old() {
			var err error
			if namespace, err = s.Dialect.Namespace(ctx, v.Session()); err != nil {
				return err
			}
		}
		s.mu.Lock()
		sc, home := s.Home.Facts, s.Home.namespace
		s.mu.Unlock()
		switch {
		case namespace != home:
		case sc != nil && !sc.Stale():
			v.know(sc)
			return nil
		default:
			return v.readAgain(ctx)
		}
	}
	return v.Aside(ctx, func(on *View) error {
		sc, err := s.load(ctx, on, v.loading())
		if err != nil {
			return err
		}
		v.know(sc)
		return nil
	})
}

// loading is how the facts are read that the session is to use.
func (v *View) loading() loading {
	if v.Facts.Private() {
		return loading{purpose: forSession}
	}
	return loading{purpose: forNamespace}
}

// Aside has facts read on a session of its own where reading them on this one
// would show: SQLite's deferred transaction begins to see the database with its
// first read, and cannot write when another connection has since then. If that
// read is slotsql's, the application's first UPDATE would get
// SQLITE_BUSY_SNAPSHOT, where plain waits for its turn. What cannot be read aside,
// because this transaction keeps all others out, is read here; a database where
// that happens is one where even opening a connection may wait, so it is tried once.
func (v *View) Aside(ctx context.Context, read func(*View) error) error {
	d, ok := v.Catalog.Dialect.(dialect.SnapshotAware)
	beside := ok && v.Tx.Unused() && v.readsAsOthers() && v.Catalog.OpensAside && !v.Catalog.Watch.Side.shutOut.Load()
	if beside {
		err := v.readAside(ctx, d, read)
		if err == nil || ctx.Err() != nil {
			return err
		}
		v.Catalog.Watch.Side.shutOut.Store(true)
	}
	return read(v)
}

func (v *View) readAside(ctx context.Context, d dialect.SnapshotAware, read func(*View) error) error {
	raw, err := v.dialSoon(ctx)
	if err != nil {
		return err
	}
	defer raw.Close()
	other := NewView(v.Catalog, raw)
	for _, q := range d.AsideSession() {
		if err := other.Session().Exec(ctx, q); err != nil {
			return err
		}
	}
	return read(other)
}

var errShutOut = errors.New("slotsql: another connection cannot read the catalog while this transaction has the database locked")

// dialSoon opens a connection, unless that takes longer than ownPatience: the parent
// may wait for the very transaction that the connection is opened for.
func (v *View) dialSoon(ctx context.Context) (driver.Conn, error) {
	type dialed struct {
		conn driver.Conn
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := v.Catalog.Dial(ctx)
		done <- dialed{conn, err}
	}()
	late := time.NewTimer(ownPatience)
	defer late.Stop()
	select {
	case d := <-done:
		return d.conn, d.err
	case <-late.C:
	}
	go func() {
		if d := <-done; d.err == nil {
			_ = d.conn.Close()
		}
	}()
	return nil, errShutOut
}

// Begins reports whether a statement that has run may have begun a transaction whose
// first read is still to come.
func (v *View) Begins(sql string) bool {
	d, ok := v.Catalog.Dialect.(dialect.SnapshotAware)
	return ok && d.Defers(sql)
}

// Committed reports whether a schema change that has just been made is visible to
// other sessions.
func (v *View) Committed() bool {
	if v.Engine.Watcher == nil && !v.Catalog.Traits.DDLCommits {
		return v.Tx.None()
	}
	return v.Catalog.Traits.DDLCommits || v.Engine.Watcher != nil && !v.Engine.Watcher.ConnInTransaction(v.Parent)
}

// OfTemporary reports whether a statement creates or drops a temporary table, and
// changes nothing else of the schema.
func OfTemporary(lx *rewrite.Lexis, sql string) bool {
	if len(sql) > MaxCachedSQL {
		return false
	}
	first, temporary := "", false
	at := 0 // of CREATE or INTO
	for i, t := range rewrite.Tokens(lx, sql) {
		word := strings.ToUpper(sql[t.Start:t.End])
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

// SettleFacts notes that a transaction may have ended, or has: what it changed
// in the schema now holds for all sessions, or for none.
func (v *View) SettleFacts(ended bool) {
	role := v.Origin.RoleUnknown()
	if v.Facts.Settled(role) {
		return
	}
	if v.Facts.Settle(ended || v.Committed(), role) {
		v.Catalog.Expire()
	}
}

// LearnFrom has the facts read again when an error may mean that they are wrong;
// it may also be the application's own mistake, again and again. So the configured
// tables are looked at, and read if they have changed, and what is known of other
// tables is looked up anew.
func (v *View) LearnFrom(err error) {
	switch {
	case !v.Engine.SchemaChanged(err):
	case v.Schema == nil || v.Catalog.Traits.OneWriter || !v.Catalog.mayLookAside():
		v.Catalog.Expire()
	default:
		v.Catalog.Watch.Due()
		v.Schema.forgetOthers()
	}
}
