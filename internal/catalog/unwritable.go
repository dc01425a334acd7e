package catalog

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
)

// Where nothing may be written (a standby, a read-only server or session, a database opened for
// reading) no slot table can be created. A table without one has no slots: as with a table that is
// still to come, statements run as they are until another process has created it, or this one may.

// reviewUnwritable is after how long it is tried again to create a slot table.
const reviewUnwritable = 10 * time.Second

// migrate runs the DDL of slot tables, after which the facts are read again. It notes if nothing may be written here.
func (l *schemaLoader) migrate(ctx context.Context, run func(context.Context, []string) error, ddl []string) (err error) {
	if l.unwritable {
		return nil
	}
	if l.unwritable, err = l.view.Unwritable(ctx); err != nil || l.unwritable {
		return err
	}
	if err = run(ctx, ddl); l.view.Engine.ReadOnly(err) {
		l.unwritable = true
		return nil
	}
	if err == nil {
		l.made = true
		l.sc.Catalog.Expire() // other namespaces may know the tables as ones without slots
	}
	return err
}

// Unwritable reports whether the database is known to refuse all writes of the session. Where it
// is not asked, an error says so: see ReadOnly.
func (v *View) Unwritable(ctx context.Context) (bool, error) {
	d, ok := v.Catalog.Dialect.(dialect.ReadOnlyAsker)
	if !ok {
		return false, nil
	}
	return d.AsksReadOnly(ctx, v.Own())
}

// awaitWritable has statements on a table run as they are, and says so once.
func (l *schemaLoader) awaitWritable(ctx context.Context, c CheckedTable) {
	l.sc.await(c.Config)
	l.sc.fresh.review = time.Now().Add(reviewUnwritable)
	if config.Demanded(c.Config) && !l.sc.Catalog.Role.Beside {
		l.sc.Catalog.warnOnce(ctx, c.Table, "slotsql: the slot table of a table is missing, and cannot be created because nothing may be written here",
			"its counters are read and changed in the table itself until the slot table exists")
	}
}
