package slotsql

import (
	"context"
	"errors"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// This file finds the plan of a statement, and notes what a statement that has run
// may have changed.

// plan returns the plan of a text: from the cache, or made now with whatever
// facts it needs read from the database.
func (c *conn) plan(ctx context.Context, query string) (*plan, error) {
	if c.broken {
		return nil, errBroken
	}
	if err := c.await(ctx); err != nil {
		return nil, err
	}
	p := cached(&c.shared.untouched, query)
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
	if p = cached(&c.shared.untouched, query); p != nil {
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
	if p := cached(&sc.plans, query); p != nil {
		return p, nil
	}
	for tries := 0; ; tries++ {
		made, err := sc.planner.Plan(query)
		var missing *rewrite.MissingError
		if err == nil {
			if err := c.nameable(made); err != nil {
				return nil, err
			}
			p := &plan{Plan: made, source: query, tally: c.shared.tallyOf(made), shadow: c.shared.shadowOf(query), habit: c.shared.habits.of(c.shared.dialect, made, query)}
			sc.plans.put(query, p)
			return p, nil
		}
		if !errors.As(err, &missing) || tries > 16 {
			return nil, err
		}
		if err := c.aside(ctx, func(v *view) error { return sc.learn(ctx, v, missing.Names) }); err != nil {
			return nil, err
		}
	}
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
		c.mayHaveRole(plan.Text)
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
		c.altered, c.private = false, c.temp || c.otherRole
	}
}

// untouchedHere returns the plan of a text that names no counter table, or of the
// statement that such a text runs as an expression's value.
func (c *conn) untouchedHere(ctx context.Context, p *plan) (*plan, error) {
	if p.dynamic != nil {
		return c.spelledOut(ctx, p)
	}
	return c.withEffects(p), nil
}

// withEffects returns the plan that holds in this session. A text that names no
// counter table runs as it is, by whatever rules it is read; but where these may be
// others than the connector's, a text of several statements may be cut elsewhere, and
// is taken to do to the session all that it can.
func (c *conn) withEffects(p *plan) *plan {
	if p.otherwise == nil || !c.readsOtherwise() {
		return p
	}
	return p.otherwise
}

// untouchedPlan makes the plan of a text that names no counter table.
func (s *shared) untouchedPlan(text string) *plan {
	p := &plan{Plan: rewrite.Untouched(s.dialect, text), shadow: s.shadowOf(text)}
	if strings.IndexByte(text, ';') >= 0 {
		other := *p.Plan
		other.Effects, other.TxEvents = rewrite.AnyEffect(s.dialect, text), []rewrite.TxEvent{{Kind: rewrite.TxMayEnd}}
		p.otherwise = &plan{Plan: &other, shadow: p.shadow}
	}
	return p
}

// checkStars has the plan made again when the columns of a table whose * it
// has written out have changed.
func (r *run) checkStars(ctx context.Context) error {
	sc := r.conn.schema
	for _, t := range r.plan.Stars {
		if sc == nil || !sc.dueStar(t) {
			continue
		}
		same, err := r.conn.sameColumns(ctx, t)
		if err != nil || same {
			continue // an error is the statement's own to find
		}
		r.conn.shared.expire()
		p, err := r.conn.plan(ctx, r.plan.source)
		if err != nil {
			return err
		}
		r.plan = p
		return nil
	}
	return nil
}
