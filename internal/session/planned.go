package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// This file finds the plan of a statement, and notes what a statement may have changed once it has
// run.

// findPlan is Plan for a statement that has not run before, or in a session that is not ordinary.
func (c *Conn) findPlan(ctx context.Context, query string) (*plan, error) {
	if err := c.makeReady(ctx, query); err != nil {
		return nil, err
	}
	p := cached(&c.Shared.Untouched, query)
	hit := p != nil
	c.LookIfDue(ctx, !hit)
	if c.Shared.Names.ViewDDL.Load() && len(c.Shared.Tables) > 0 && c.Schema != nil && c.Schema.Stale() {
		// A view over a counter table may have been created whose name is not known yet.
		// In a transaction that has failed nothing can be read, and nothing runs but its end.
		if err := c.Refresh(ctx); c.failsTx(err) && rewrite.Untouched(c.Dialect(), query).Effects&rewrite.TxControl == 0 {
			return nil, err
		}
	}
	if err := c.CheckCharset(ctx, query); err != nil {
		return nil, err
	}
	clears := c.Shared.Untouched.Clears()
	if p != nil && p.clears != clears { // a name may have become that of a counter table meanwhile
		p = nil
	}
	sc := c.Schema
	var known *plan // of a statement that concerns a configured table, so it need not be asked for one
	if p == nil && sc != nil {
		known = concerned(&sc.Plans, query)
	}
	if p == nil && known == nil && c.mayBeElsewhere() && !needsFacts(c, query) {
		// Its schema may have views over counter tables whose names are not known yet.
		if err := c.Refresh(ctx); c.failsTx(err) && rewrite.Untouched(c.Dialect(), query).Effects&rewrite.TxControl == 0 {
			return nil, err
		}
		sc = c.Schema
	}
	if p == nil && known == nil && !needsFacts(c, query) {
		p = c.Shared.untouchedPlan(query)
		p.clears, p.dynamic = clears, rewrite.DynamicOf(c.Dialect(), query)
		if c.Shared.repeats.seenBefore(query) {
			c.Shared.Untouched.Put(query, p)
		}
	}
	if p != nil {
		if hit && p.dynamic == nil && p.otherwise == nil && sc != nil && sc.Settled() && !c.Rare.Any(atPlan) {
			sc.Plans.Put(query, p)
		}
		return c.untouchedHere(ctx, p)
	}
	if err := c.RefreshFor(ctx, query); err != nil {
		return nil, err
	}
	if known == nil || c.Schema != sc {
		known = concerned(&c.Schema.Plans, query)
	}
	if known != nil {
		return known, nil
	}
	return c.planShaped(ctx, query)
}

// makeReady has the connection ready for a statement, and what the process does now and then looked after.
func (c *Conn) makeReady(ctx context.Context, query string) error {
	c.renewLease(ctx)
	if c.Rare.Any(link.Broken) {
		return link.ErrBroken
	}
	if err := c.detached.await(ctx); err != nil || !c.Rare.Any(link.InsertIDOwed|link.InsertIDPooled) {
		return err
	}
	return c.giveInsertIDBefore(ctx, query)
}

// needsFacts reports whether the plan of a statement may depend on the facts of tables.
func needsFacts(c *Conn, query string) bool {
	return c.Shared.Mentions(query) && !rewrite.LeavesRows(c.Dialect(), query)
}

// mayBeElsewhere reports whether code outside slotsql may have moved the session to other tables
// since it was last asked.
func (c *Conn) mayBeElsewhere() bool {
	return c.Facts.Old() && (c.Shared.ParentHooks.Any() || c.Rare.Any(link.Lent))
}

// planNow makes a plan, and reads the tables that the planner does not know yet.
func (c *Conn) planNow(ctx context.Context, query string) (*plan, error) {
	sc := c.Schema
	for tries := 0; ; tries++ {
		made, err := sc.Planner.Plan(query)
		var missing *rewrite.MissingError
		if err == nil {
			if err := c.Nameable(made); err != nil {
				return nil, err
			}
			p := planOf(made)
			p.source, p.shadow, p.tally = query, c.Shared.shadowOf(query), countsOf(c, made, query)
			p.habit = c.Shared.habits.Of(c.Shared.Dialect, made, query)
			sc.Plans.Put(query, p)
			return p, nil
		}
		if !errors.As(err, &missing) || tries > 16 {
			return nil, err
		}
		if err := c.Aside(ctx, func(v *catalog.View) error { return sc.Learn(ctx, v, missing.Names) }); err != nil {
			return nil, err
		}
	}
}

// notePassed is noteRan for a statement that the parent was given as it is.
func (c *Conn) notePassed(p *plan, err error) {
	if c.noteRan(p, err); err != driver.ErrSkip {
		c.Shared.shadowRan(p)
	}
}

// noteRan notes what a statement that has run may have done to the session.
func (c *Conn) noteRan(plan *plan, err error) {
	// Where a miss locks, increments in a transaction lock the base row whatever it goes on to.
	if plan.mayLock && c.lastChange > 0 && !c.Shared.Traits.MissLocks && err != driver.ErrSkip &&
		slots.MayLock(c.Dialect().LexRules(), plan.SQL) {
		goesOn(c, nil)
	}
	switch {
	case err == nil && plan.quiet && c.detached.done == nil:
		c.Tx.Used(plan.locks)
		return
	case err == driver.ErrSkip:
		return // nothing has been sent
	}
	if c.Rare.Any(link.Detached) && c.detached.putOff(func() { c.noteRan(plan, nil) }) {
		return // err is that of the caller's context, not of the shared statement
	}
	c.Rare.Set(link.TxNoted)
	c.touchTickets(plan.Plan, err)
	if err != nil || !plan.locks {
		c.Tx.LocksOnly(false)
	}
	c.Tx.ReadUnlessLocking()
	c.Tx.Ran(err == nil && plan.Effects&rewrite.TxControl != 0 && c.Begins(plan.SQL))
	if err != nil {
		c.noteError(err)
	}
	if plan.Effects&rewrite.TxControl != 0 {
		c.noteTxControl(plan.Plan, err)
	}
	if len(plan.Base.DeletesFrom) > 0 && !c.InAutocommit() {
		c.noteUntied(plan.Base.DeletesFrom)
	}
	if plan.Effects&rewrite.SessionChange != 0 {
		c.MayHaveRole(plan.SQL)
		c.Settings.Change()
		c.Kept.Expire()
	}
	if plan.Effects&rewrite.Namespace != 0 {
		c.Facts.MoveNamespace(!c.Committed())
	}
	if plan.Effects&rewrite.SchemaChange != 0 {
		c.noteSchemaChange(plan.SQL)
	}
	if err != nil && len(plan.Tables) > 0 {
		c.LearnFrom(err)
	}
}

// noteSchemaChange notes that a statement may have changed the schema. Other sessions must look at
// it again, but must not take over what this session sees: neither its temporary tables nor
// uncommitted changes.
func (c *Conn) noteSchemaChange(query string) {
	c.Shared.Noticed.DDL.Add(1)
	rules := c.Dialect().LexRules()
	concerns := c.Shared.Concerns(rules, query)
	if concerns == catalog.NoFacts {
		return
	}
	c.Facts.ChangeTables(lex.Temporary(rules, query))
	if concerns != catalog.NewNames && !catalog.OfTemporary(rules, query) {
		if lex.HasWord(rules, query, "view") || c.Shared.Names.MayMove(query) {
			c.Shared.Names.ViewDDL.Store(true)
			c.Shared.ForgetViews()
		}
		if lex.HasWord(rules, query, "rename") {
			c.Shared.Names.ViewDDL.Store(true) // a counter table may have a new name now
		}
		switch {
		case concerns != catalog.OtherTables:
			c.Facts.Alter()
			c.Shared.Expire()
		case c.Committed():
			c.Shared.Watch.Due()
		default:
			c.Facts.AlterOthers()
		}
	}
	if c.Committed() {
		c.Facts.Commit()
	}
}

// untouchedHere returns the plan of a statement that names no counter table. If the statement runs
// SQL that is the value of an expression, that SQL is planned.
func (c *Conn) untouchedHere(ctx context.Context, p *plan) (*plan, error) {
	if p.dynamic != nil {
		return c.planDynamic(ctx, p)
	}
	return c.withEffects(p), nil
}

// withEffects returns the plan that holds in this session. A statement that names no counter table
// runs as it is, whatever the rules it is parsed by. But if the session may have other rules than
// the connector, several statements in one call may be split elsewhere, and are taken to have
// every effect that they can have.
func (c *Conn) withEffects(p *plan) *plan {
	if p.otherwise == nil || !c.ReadsOtherwise() {
		return p
	}
	return p.otherwise
}

// untouchedPlan makes the plan of a statement that names no counter table.
func (s *Shared) untouchedPlan(query string) *plan {
	made := &struct { // one allocation
		plan
		of      rewrite.Plan
		learned learned
		counts  counts
	}{of: rewrite.Untouched(s.Dialect, query)}
	if s.Names.Moves(query) {
		made.of.Effects |= rewrite.Moved
	}
	p := &made.plan
	p.Plan, p.learned, p.tally, p.shadow = &made.of, &made.learned, &made.counts, s.shadowOf(query)
	p.untouched, p.usual = true, usualOf(&made.of)
	if strings.IndexByte(query, ';') >= 0 {
		other := *p.Plan
		other.Effects, other.TxEvents = rewrite.AnyEffect(s.Dialect, query), []lex.TxEvent{{Kind: lex.TxMayEnd}}
		p.otherwise = &plan{Plan: &other, shadow: p.shadow, tally: p.tally, learned: p.learned, usual: usualOf(&other)}
	}
	return p
}

// CheckStars plans the statement again if the columns have changed of a table whose * the plan has
// written out.
func (r *Run) CheckStars(ctx context.Context) error {
	sc := r.conn.Schema
	stars := r.Plan.Read.Stars
	if r.Plan.Group != nil {
		stars = append(slices.Clip(stars), r.Plan.Group.Stars...)
	}
	for _, t := range stars {
		if sc == nil || !sc.DueStar(t) {
			continue
		}
		same, err := r.conn.SameColumns(ctx, t)
		switch {
		case r.conn.failsTx(err):
			return err
		case err != nil || same:
			continue // the statement itself will meet the error
		}
		r.conn.Shared.Expire()
		p, err := r.conn.Plan(ctx, r.Plan.source)
		if err != nil {
			return err
		}
		r.Plan = p
		return nil
	}
	return nil
}

// replan reports whether the statement failed because its plan was made with facts that no longer
// hold, and gives it the new plan. Nothing of the statement is left: such errors come before any
// effect, and a drain has been undone or has changed no total.
func replan(ctx context.Context, r *Run, err error) bool {
	c := r.conn
	if r.Plan.source == "" || r.Plan.AsIs() || r.Plan.Class == rewrite.Multi || c.Rare.Any(link.Broken) || !c.Engine.SchemaChanged(err) {
		return false
	}
	if c.Shared.Traits.ErrorAborts {
		if open, err := c.InTransaction(ctx); err != nil || open {
			return false
		}
	}
	p, err := c.Plan(ctx, r.Plan.source)
	if err != nil || p.same(r.Plan) {
		return false
	}
	r.Plan, r.cause = p, byPlan
	return true
}
