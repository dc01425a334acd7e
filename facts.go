package slotsql

import (
	"context"
	"errors"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// This file keeps what a connection knows of the database up to date: it finds
// the plan of a text, and notes what a text that has run may have changed.

// plan returns the plan of a text: from the cache, or made now with whatever
// facts it needs read from the database.
func (c *conn) plan(ctx context.Context, query string) (*plan, error) {
	if c.broken {
		return nil, errBroken
	}
	if err := c.await(ctx); err != nil {
		return nil, err
	}
	p := c.shared.untouched.get(query)
	c.heed(ctx, p == nil)
	if c.shared.viewDDL.Load() && len(c.shared.tables) > 0 && c.schema != nil && c.schema.stale() {
		// A view may have come to be over a counter table, and its name is yet
		// unknown. In a transaction that has failed nothing can be read, nor run.
		if err := c.refresh(ctx); err != nil && c.engine.txEnded(err) {
			return nil, err // the text would not be told
		}
	}
	if err := c.legible(ctx, query); err != nil {
		return nil, err
	}
	if p = c.shared.untouched.get(query); p != nil {
		return c.untouchedHere(ctx, p)
	}
	if !c.shared.mentions(query) {
		p := c.shared.untouchedPlan(query)
		p.dynamic = rewrite.DynamicOf(c.dialect(), query)
		c.shared.untouched.put(query, p)
		return c.untouchedHere(ctx, p)
	}
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	sc := c.schema
	if p := sc.plans.get(query); p != nil {
		return p, nil
	}
	for tries := 0; ; tries++ {
		made, err := sc.planner.Plan(query)
		var missing *rewrite.MissingError
		if err == nil {
			if err := c.nameable(made); err != nil {
				return nil, err
			}
			p := &plan{Plan: made, source: query, tally: c.shared.tallyOf(made), shadow: c.shared.shadow.text(query), habit: c.shared.habits.of(c.shared.dialect, made, query)}
			sc.plans.put(query, p)
			return p, nil
		}
		if !errors.As(err, &missing) || tries > 16 {
			return nil, err
		}
		if err := c.aside(ctx, func(ss *session) error { return sc.learn(ctx, ss, missing.Names) }); err != nil {
			return nil, err
		}
	}
}

// refresh makes c.schema the facts of the session's namespace as it is now.
func (c *conn) refresh(ctx context.Context) error {
	if c.schema != nil && !c.moved && !c.schema.stale() {
		return nil
	}
	s := c.shared
	if !c.private && c.schema != nil {
		namespace := c.schema.namespace
		if c.moved {
			var err error
			if namespace, err = s.dialect.Namespace(ctx, &c.session); err != nil {
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
	return c.aside(ctx, func(ss *session) error {
		sc, err := s.load(ctx, ss, loading{private: c.private})
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
func (c *conn) aside(ctx context.Context, read func(*session) error) error {
	d, ok := c.shared.dialect.(dialect.SnapshotAware)
	apart := ok && c.untouched && c.lasting && c.ordinary() && c.shared.connect != nil && !c.shared.shutsOut.Load()
	if apart {
		err := c.readAside(ctx, d, read)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.shared.shutsOut.Store(true)
	}
	return read(&c.session)
}

func (c *conn) readAside(ctx context.Context, d dialect.SnapshotAware, read func(*session) error) error {
	raw, err := c.shared.connect(ctx)
	if err != nil {
		return err
	}
	defer raw.Close()
	other := wrapConn(c.shared, raw)
	for _, q := range d.AsideSession() {
		if err := other.session.Exec(ctx, q); err != nil {
			return err
		}
	}
	return read(&other.session)
}

// begins says that a text that has been run may have begun a transaction whose
// first read is still to come.
func (c *conn) begins(text string) bool {
	d, ok := c.shared.dialect.(dialect.SnapshotAware)
	return ok && d.Defers(text)
}

// after notes what a text that has been run may have done to the session.
func (c *conn) after(plan *rewrite.Plan, err error) {
	c.untouched = err == nil && plan.Effects&rewrite.TxControl != 0 && c.begins(plan.Text)
	if err != nil {
		c.failed(err)
	}
	if plan.Effects&rewrite.TxControl != 0 {
		c.transacted(plan, err)
	}
	if len(plan.Unties) > 0 && !c.inAutocommit() {
		c.unties(plan.Unties)
	}
	if plan.Effects&rewrite.SessionChange != 0 {
		c.otherRole = c.otherRole || c.shared.traits.RightsAreFacts && rewrite.ContainsFold(plan.Text, "role")
		c.strayed = true
		c.prepared.expire()
	}
	if plan.Effects&rewrite.Namespace != 0 {
		c.moved = true
		c.adrift = !c.committed()
	}
	if plan.Effects&rewrite.SchemaChange != 0 {
		c.changed(plan.Text)
	}
	if err != nil && len(plan.Tables) > 0 {
		c.learnFrom(err)
	}
}

// queried notes that a query has been run: its error may come with its rows.
func (c *conn) queried() { c.tx.known, c.reading = false, true }

// changed notes that a text may have changed the schema. Others must look
// again, and must not take over what this session sees: not its temporary
// tables, and not a change that is not committed.
func (c *conn) changed(text string) {
	c.shared.ddl.Add(1)
	concerns := c.shared.concerns(c.dialect().Lexis(), text)
	if concerns == noFacts {
		return
	}
	c.private, c.moved = true, true
	c.temp = c.temp || rewrite.ContainsFold(text, "temp")
	if concerns != newNames && !ofTemporary(c.dialect().Lexis(), text) {
		c.altered = true
		if rewrite.ContainsFold(text, "view") {
			c.shared.viewDDL.Store(true)
			c.shared.forgetViews()
		}
		if rewrite.ContainsFold(text, "rename") {
			c.shared.viewDDL.Store(true) // a name yet unknown may be that of a table whose slots are known
		}
		if concerns == otherTables && c.committed() {
			c.shared.watch.due()
		} else {
			c.shared.expire()
		}
	}
	if c.committed() {
		c.altered, c.private = false, c.temp
	}
}

// committed says that a change of the schema that has just been made holds for
// everybody.
func (c *conn) committed() bool {
	if c.engine.watcher == nil && !c.shared.traits.DDLCommits {
		return !c.lasting && !c.tx.byText
	}
	return c.shared.traits.DDLCommits || c.engine.watcher != nil && !c.engine.watcher.ConnInTransaction(c.parent)
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
func (c *conn) settleFacts(ended bool) {
	if !c.private && !c.altered && !c.adrift {
		return
	}
	c.moved = true
	if c.altered {
		c.shared.expire()
	}
	if ended || c.committed() {
		c.altered, c.adrift, c.private = false, false, c.temp
	}
}

// learnFrom has the facts read again when an error may mean that they are wrong;
// it may also be the application's own mistake, again and again. So the configured
// tables are looked at, and read if they have changed, and what is known of other
// tables is looked up anew.
func (c *conn) learnFrom(err error) {
	switch {
	case !c.engine.schemaChanged(err):
	case c.schema == nil || c.shared.traits.OneWriter || !c.shared.aside():
		c.shared.expire()
	default:
		c.shared.watch.due()
		c.schema.forgetOthers()
	}
}
