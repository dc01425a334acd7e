package session

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A member of a group that draws a number by LAST_INSERT_ID(n + 1) gets it in its Result. But its
// session has another one: the leader's has that of the last member, and the others still have the
// one of an earlier statement. So the number is remembered, and set in the session before a
// statement that may ask for it, or that may leave it unchanged. A statement that draws the next
// number does not ask for it and sets its own: if it affects a row there is nothing left to set,
// and if it affects none the number is still to be set. After the connection has been returned to
// the pool, it is set only for a statement that reads LAST_INSERT_ID().

// noInsertID is for Rare.Clear: the session has the number that it should have.
const noInsertID = link.InsertIDOwed | link.InsertIDPooled

// drew notes the number that an execution has drawn as a member of a group.
func drew(c *Conn, n int64) {
	c.insertID = n
	c.Rare.Clear(noInsertID)
	c.Rare.Set(link.InsertIDOwed)
}

// needsInsertID reports whether the number has to be set in the session before a statement.
func needsInsertID(rare *link.Rare, lx *lex.Rules, query string) bool {
	if !rare.Any(noInsertID) {
		return false
	}
	if lex.ContainsFold(query, "insert_id") || lex.ContainsFold(query, "identity") {
		return true
	}
	t := lex.NewScanner(lx, query).Next()
	switch strings.ToUpper(query[t.Start:t.End]) {
	case "SELECT", "UPDATE", "DELETE", "SET", "SHOW", "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";")
	}
	return rare.Any(link.InsertIDOwed)
}

// drawsNumber reports whether executions of a plan set the session's number, and do not ask for
// it. (A statement that can be grouped has no other call that concerns it.)
func drawsNumber(p *plan) bool { return p != nil && p.Group != nil && p.Group.InsertID > 0 }

// knownToDraw is drawsNumber for the cached plan of a statement.
func (c *Conn) knownToDraw(query string) bool {
	return c.Schema != nil && drawsNumber(cached(&c.Schema.Plans, query))
}

// drewAlone notes that an execution has drawn its number by itself, so the session has it.
func drewAlone(r *Run, res driver.Result) {
	if !r.conn.Rare.Any(noInsertID) || !drawsNumber(r.Plan) {
		return
	}
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		r.conn.Rare.Clear(noInsertID)
	}
}

// setInsertID sets the drawn number in the session, if the execution draws the next one by a query: that does not show whether it has.
func setInsertID(ctx context.Context, r *Run) error {
	if !r.call.wantsRows || !r.conn.Rare.Any(noInsertID) || !drawsNumber(r.Plan) {
		return nil
	}
	return r.conn.giveInsertID(ctx)
}

// giveInsertIDBefore sets the drawn number in the session, if a statement needs it.
func (c *Conn) giveInsertIDBefore(ctx context.Context, query string) error {
	if !needsInsertID(c.Rare, c.Shared.Dialect.LexRules(), query) || c.knownToDraw(query) {
		return nil
	}
	return c.giveInsertID(ctx)
}

// giveInsertID sets the drawn number in the session.
func (c *Conn) giveInsertID(ctx context.Context) error {
	setter, ok := c.Shared.Dialect.(dialect.InsertIDSetter)
	if !ok {
		return nil
	}
	if _, err := c.ParentExec(ctx, setter.SetInsertID(c.insertID), nil); err != nil {
		return err
	}
	c.Rare.Clear(noInsertID)
	return nil
}
