package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file keeps the facts that a session uses up to date.

// Refresh makes v.Schema the facts of the session's namespace as they are now.
func (v *View) Refresh(ctx context.Context) error {
	if v.Rare.Any(link.Lent) {
		v.Hooked()
	}
	// What has been read in a transaction lacks the slot tables that could not be made there.
	ended := v.Schema != nil && v.Schema.fresh.partial && v.Tx.None()
	if v.Schema != nil && !v.Facts.Old() && !v.Schema.Stale() && !ended {
		return nil
	}
	s := v.Catalog
	if !v.Facts.Private() && v.Schema != nil {
		// Another session's DDL may have given this one another namespace as well: a schema that its
		// search path names has been created or dropped.
		namespace, err := v.namespace(ctx)
		if err != nil {
			return err
		}
		if sc := s.kept(namespace); sc != nil {
			v.know(sc)
			return nil
		}
		s.mu.Lock()
		home := namespace == s.Home.namespace
		s.mu.Unlock()
		if home {
			if err := v.readAgain(ctx); err != nil || v.Schema.namespace == namespace {
				return err
			}
			v.Facts.MoveNamespace(!v.Committed()) // what was read is another session's home
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

// loading returns how the facts are read that the session is to use.
func (v *View) loading() loading {
	if v.Facts.Private() {
		return loading{purpose: forSession}
	}
	return loading{purpose: forNamespace}
}

// Aside reads facts on a connection of its own, if reading them on this one would have an effect:
// SQLite's deferred transaction sees the database as of its first read, and cannot write if
// another connection has written since then. If that read is slotsql's, the application's first
// UPDATE would fail with SQLITE_BUSY_SNAPSHOT, where the plain one waits for its turn. If another
// connection cannot read, because this transaction keeps out all others, the facts are read here.
// In such a database even opening a connection may wait, so that is tried only once.
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
	if v.Catalog.ParentHooks.Any() {
		if _, err := other.namespace(ctx); err != nil || other.asked != v.asked {
			return read(v)
		}
	}
	return read(other)
}

var errShutOut = errors.New("slotsql: another connection cannot read the catalog while this transaction has the database locked")

// dialSoon opens a connection, unless that takes longer than ownPatience: the parent may be
// waiting for the very transaction that needs the connection.
func (v *View) dialSoon(ctx context.Context) (driver.Conn, error) {
	soon, cancel := context.WithTimeout(ctx, ownPatience)
	defer cancel()
	conn, err := v.Catalog.DialContext(soon)
	if err != nil && ctx.Err() == nil && soon.Err() != nil {
		return nil, errShutOut
	}
	return conn, err
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
func OfTemporary(lx *lex.Rules, sql string) bool {
	if len(sql) > MaxCachedSQL {
		return false
	}
	first, temporary := "", false
	at := 0 // of CREATE or INTO
	for i, t := range lex.Tokens(lx, sql) {
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
	switch altered, others := v.Facts.Settle(ended || v.Committed()); {
	case altered:
		v.Catalog.Expire()
	case others:
		v.Catalog.Watch.Due()
	}
}

// LearnFrom has facts read again if an error may mean that they are wrong. The error may also be a
// mistake of the application that comes again and again. So the configured tables are looked at,
// and only read if they have changed; what is known about other tables is looked up again.
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
