package session

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// This file takes an execution through a group on the base row: see rewrite.Group for why that is
// exact. An execution that meets no other runs as it is, while those that come meanwhile queue
// behind it; then one of them leads, and runs the group's statement for all. A group has few
// statements under way at a time, see slots.Coalescer: they wait for one another's row lock.

// sharing takes an execution through groups, on the base row or in a slot.
type sharing struct {
	run  *Run
	conn *Conn
}

func sharingOf(r *Run) sharing { return sharing{r, r.conn} }

// runGrouped runs an execution in a group, or else by alone.
func runGrouped(ctx context.Context, r *Run, alone func(context.Context) (answer, error)) (answer, error) {
	sh, g, co := sharing{r, r.conn}, r.Plan.Group, r.conn.Shared.coalescer
	if g == nil || !sh.mayShare() || r.call.wantsRows && len(g.Returns) == 0 { // no rows would tell how many it has affected
		return alone(ctx)
	}
	var buf [128]byte
	var args []byte // not before it meets others, if its table or its row is enough to tell whether it does
	key, ok := sh.tableKey()
	if !ok {
		if r.row.Table == "" {
			if args, ok = sh.groupArgs(buf[:0]); !ok {
				return alone(ctx)
			}
		}
		key = sh.rowKey(args)
	}
	if turn, ok := co.Enter(key.hash); ok {
		defer turn.End()
		return alone(ctx)
	}
	return sh.runBehind(ctx, alone, args, key)
}

// mayShare reports whether the execution may share a statement, in a slot or on the base row: it
// has exactly the arguments of the statement, and its session is as the connector opened it.
func (sh sharing) mayShare() bool {
	return len(sh.run.call.options) == 0 && len(sh.run.call.args) == sh.run.Plan.Inputs && sh.conn.AsConnected()
}

// peers identifies the sessions with which this one may share statements: those on the same node
// with the same facts, for which names mean the same tables.
func (c *Conn) peers() int64 { return int64(c.node.Number)<<40 | c.Schema.Number() }

// runBehind runs an execution that has met others: in a group, or by alone when its turn has come.
func (sh sharing) runBehind(ctx context.Context, alone func(context.Context) (answer, error), args []byte, key groupKey) (answer, error) {
	v, turn := sh.inGroup(ctx, args, key)
	defer turn.End()
	switch {
	case v.Outcome == slots.OutcomeAlone:
		if !turn.Led() {
			return alone(ctx)
		}
		began := time.Now()
		a, err := alone(ctx)
		if err == nil {
			sh.conn.Shared.coalescer.NoteOnBase(began)
		}
		return a, err
	case v.Err != nil:
		return answer{}, v.Err
	case sh.run.call.wantsRows:
		return answer{rows: sh.run.asCalled(v.Result.(*groupResult).rows)}, nil
	}
	return answer{result: v.Result}, nil
}

// inGroup runs the execution together with those that overlap with it, and returns its verdict:
// counted or refused, with its result; failed, with its error; or alone, if nothing has been applied
// and it is to run by itself. An execution that runs alone may have the turn, for which others wait.
func (sh sharing) inGroup(ctx context.Context, args []byte, key groupKey) (slots.Verdict, slots.Turn) {
	alone, co := slots.Verdict{Outcome: slots.OutcomeAlone}, sh.conn.Shared.coalescer
	var many [16]byte
	var buf [128]byte
	if args == nil {
		var ok bool
		if args, ok = sh.groupArgs(buf[:0]); !ok {
			return alone, slots.Turn{}
		}
	}
	m, signs, ok := sh.member(ctx, args)
	if !ok {
		return alone, slots.Turn{}
	}
	for range maxJoins {
		g, common := sh.run.Plan.Group, signs
		form := slots.Form{Peers: sh.conn.peers(), Shares: g.Shares, Hash: key.hash, Single: g.CompareAndSet != nil || key.numbers != nil}
		if m.Key, m.Row = key.numbers, (slots.RowKey{}); key.numbers != nil {
			m.Row = slots.RowKey{Table: g.Table.Counter.Slotted(), Values: argument.WriteNumbers(key.numbers)}
			form.SQL, common = sh.run.sql(&g.Many.Bound), manyArgs(many[:0], m)
		} else {
			form.SQL = g.SameSQL.Of(sh.run.Plan.Values)
		}
		v, turn := sh.leadOrWait(ctx, m, co.Join(form, common, m))
		switch v.Outcome {
		case slots.OutcomeByRow:
			key = sh.rowKey(args)
			continue
		case slots.OutcomeRetry:
			continue
		}
		sh.conn.spares.keepMember(m, v)
		sh.noteDrawn(v)
		return v, turn
	}
	return alone, slots.Turn{}
}

// leadOrWait leads a batch, or waits for the member that leads (b is nil), until the execution has
// its verdict. A leader without other members has the turn, and runs alone.
func (sh sharing) leadOrWait(ctx context.Context, m *slots.Member, b *slots.Batch) (slots.Verdict, slots.Turn) {
	v := slots.Verdict{Outcome: slots.OutcomeLead, Batch: b}
	for v.Outcome == slots.OutcomeLead {
		switch {
		case v.Batch == nil:
			if v = m.Wait(ctx); v.Outcome == slots.OutcomeLead {
				v.Batch = m.Group.Take(m)
			}
		case len(v.Batch.Members) == 1:
			return slots.Verdict{Outcome: slots.OutcomeAlone}, m.Turn()
		default:
			v = sh.leadGroup(ctx, m, v.Batch)
		}
	}
	return v, slots.Turn{}
}

// noteDrawn notes the number that the execution has drawn in a group by LAST_INSERT_ID(n + 1).
func (sh sharing) noteDrawn(v slots.Verdict) {
	a, ok := v.Result.(*groupResult)
	if !ok || sh.run.Plan.Group.InsertID == 0 || a.result.rows == 0 {
		return
	}
	if id, err := a.LastInsertId(); err == nil {
		drew(sh.conn, id)
	}
}

// maxJoins bounds how often an execution joins a group without anything having been applied.
const maxJoins = 12

// groupArgs appends what the executions of a group have in common besides its statement.
func (sh sharing) groupArgs(b []byte) ([]byte, bool) {
	kind := byte('e')
	if sh.run.call.wantsRows {
		kind = 'q'
	}
	return sh.run.args().Common(append(b, kind), sh.run.Plan.Group.Args)
}

// member returns the execution as a member of its group, and what members have in common; false if
// its arguments rule it out.
func (sh sharing) member(ctx context.Context, args []byte) (*slots.Member, []byte, bool) {
	g := sh.run.Plan.Group
	m := sh.conn.spares.takeMember()
	m.Demands = m.Begin(len(g.Shares), len(g.Guards))
	if g.BeginsOtherwise() {
		m.Firsts = make([]int64, len(g.Shares))
	}
	m.Used, m.Context = sh.conn.led, sh.conn.Shared.traced(ctx)
	if g.Touch() || g.CompareAndSet != nil {
		m.SQL = sh.run.sql(&g.Bound)
	}
	given := sh.run.args()
	if !given.NoNumbers(g.NotNumber) || !given.ColumnsAccept(g.Inserted) || g.Upsert != nil && !given.GivesKey(g.Upsert) {
		return nil, nil, false
	}
	nothing := true
	var ok bool
	for i, s := range g.Shares {
		if m.Adds[i], ok = given.AddsNumber(s); !ok {
			return nil, nil, false
		}
		if m.Firsts != nil {
			if m.Firsts[i], ok = given.Begins(s, m.Adds[i]); !ok {
				return nil, nil, false
			}
		}
		nothing = nothing && m.Adds[i] == 0
		// If all add, or all subtract, every value on the way lies between the first and the last.
		// So if both of those may be stored, all of them may.
		args = append(args, argument.Sign(m.Adds[i]))
	}
	for i, unsigned := range given.UnsignedShares(g.Shares) {
		if unsigned { // so is the sum, which is refused below zero if one of the members' would be
			args = append(args, 'u', byte(i))
		}
	}
	if nothing && len(g.Shares) > 0 { // engines differ in what that affects
		return nil, nil, false
	}
	for i, d := range g.Guards {
		if m.Demands[i], ok = given.Demands(d, g.Shares[d.Share].Scale); !ok {
			return nil, nil, false
		}
	}
	for _, a := range g.Args {
		if !a.Free || a.Total > 0 || a.Bound > 0 {
			continue
		}
		v, ok := given.Value(a)
		if !ok {
			return nil, nil, false
		}
		free, ok := argument.Kept(v.Value)
		if !ok {
			return nil, nil, false
		}
		m.Free = append(m.Free, free)
	}
	return m, args, true
}

// leadGroup runs the statement of a group, tells its members, and returns the leader's own
// verdict.
func (sh sharing) leadGroup(ctx context.Context, m *slots.Member, b *slots.Batch) slots.Verdict {
	sh.conn.led++
	g := &group{run: sh.run, members: b.Members}
	if len(b.Rows) > 1 {
		return sh.leadShared(ctx, m, b, func(ctx context.Context, r *Run) { g.run = r; g.leadMany(ctx, b) })
	}
	if sh.drainsGroups() && !g.plan(ctx) {
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, b.Members...)
		m.Group.Next()
		return g.verdict
	}
	return sh.leadShared(ctx, m, b, func(ctx context.Context, r *Run) { g.run = r; g.lead(ctx); g.noteDrains() })
}

// drainsGroups reports whether a group's statement needs a row without slots, as its members' do.
func (sh sharing) drainsGroups() bool {
	return sh.run.Plan.Class == rewrite.Drain || sh.run.Plan.Increment != nil && sh.run.Plan.Increment.Latest
}

// noteDrains counts the drains of the group's statements for its members', which have been counted themselves.
func (g *group) noteDrains() {
	for _, p := range g.drained {
		g.run.Plan.tally.drains.Add(p.tally.drains.Swap(0))
	}
}

// plan has the group's statements planned: they drain as its members would.
func (g *group) plan(ctx context.Context) bool {
	form := g.run.Plan.Group
	g.drained = map[*rewrite.Bound]*plan{}
	for _, b := range []*rewrite.Bound{&form.Bound, form.One} {
		if b == nil {
			continue
		}
		p, err := g.run.conn.Plan(ctx, g.run.sql(b))
		if err != nil || p.Class != rewrite.Drain && (p.Increment == nil || !p.Increment.Latest) {
			return false
		}
		own := *p
		own.tally = &counts{} // see noteDrains
		g.drained[b] = &own
	}
	return true
}
