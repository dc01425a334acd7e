package session

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// A member of a group that draws a number by LAST_INSERT_ID(n + 1) has it in its Result.
// Its session has another one: the leader's has that of the last member, and the others
// have the one of their statement before. So the number is remembered, and the session is
// given it before a statement that may ask for it, or that may leave it as it is after
// having set none. One that draws the next number asks for none and sets its own: where
// it affects a row there is nothing left to give, and where it affects none what was to
// be given still is. Statements of the next user of a pooled connection ask for nothing,
// unless they say so.

// owedInsertID is a number that the session is still to be given.
type owedInsertID struct {
	value int64
	state insertIDState
}

type insertIDState byte

const (
	insertIDKnown   insertIDState = iota // the session has what it should have
	insertIDPending                      // it has not
	insertIDPooled                       // nor had it when it was given back to the pool
)

// drew notes the number that an execution has drawn as a member of a group.
func (o *owedInsertID) drew(n int64) { o.value, o.state = n, insertIDPending }

// reset notes that the session has been given back to the pool.
func (o *owedInsertID) reset() {
	if o.state == insertIDPending {
		o.state = insertIDPooled
	}
}

// neededBy reports whether the session must be given the number before a statement.
func (o *owedInsertID) neededBy(lx *rewrite.Lexis, query string) bool {
	if o.state == insertIDKnown {
		return false
	}
	if rewrite.ContainsFold(query, "insert_id") || rewrite.ContainsFold(query, "identity") {
		return true
	}
	t := rewrite.NewScanner(lx, query).Next()
	switch strings.ToUpper(query[t.Start:t.End]) {
	case "SELECT", "UPDATE", "DELETE", "SET", "SHOW", "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";")
	}
	return o.state == insertIDPending
}

// drawsNumber reports whether executions of a plan set the session's number themselves,
// and do not ask for it: a statement that can be grouped calls nothing else that has to
// do with it.
func drawsNumber(p *plan) bool { return p != nil && p.Group != nil && p.Group.InsertID > 0 }

// knownToDraw is drawsNumber for the plan that a statement has had so far.
func (c *Conn) knownToDraw(query string) bool {
	return c.Schema != nil && drawsNumber(cached(&c.Schema.Plans, query))
}

// drewAlone notes that an execution has drawn its number by itself, so that the session
// has it.
func (r *Run) drewAlone(res driver.Result) {
	if r.conn.insertID.state == insertIDKnown || !drawsNumber(r.Plan) {
		return
	}
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		r.conn.insertID.state = insertIDKnown
	}
}

// giveInsertIDBefore gives the session the number that it has drawn, where a statement needs it.
func (c *Conn) giveInsertIDBefore(ctx context.Context, query string) error {
	if !c.insertID.neededBy(c.Shared.Dialect.Lexis(), query) || c.knownToDraw(query) {
		return nil
	}
	return c.giveInsertID(ctx)
}

// giveInsertID gives the session the number that it has drawn.
func (c *Conn) giveInsertID(ctx context.Context) error {
	setter, ok := c.Shared.Dialect.(dialect.InsertIDSetter)
	if !ok {
		return nil
	}
	if _, err := c.ParentExec(ctx, setter.SetInsertID(c.insertID.value), nil); err != nil {
		return err
	}
	c.insertID.state = insertIDKnown
	return nil
}
