package session

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite"
)

// This file takes an execution through a group on the base row: see rewrite.Group for why that is
// exact. An execution that meets no other runs as it is, while those that come meanwhile queue
// behind it; then one of them leads, and runs the group's statement for all. A group has few
// statements under way at a time, see slots.Coalescer: they wait for one another's row lock.

// grouped reports whether the execution may share a statement on the base row. An increment of a
// table with slots decides that in execIncrement, and an execution whose arguments require a drain
// runs alone.
func (r *Run) grouped() bool {
	switch r.Plan.Class {
	case rewrite.PassThrough, rewrite.Drain:
		return r.Plan.Group != nil
	case rewrite.AdditiveBase:
		return r.Plan.Group != nil && r.baseFits()
	}
	return false
}

// runGrouped runs an execution in a group, or else by alone.
func (r *Run) runGrouped(ctx context.Context, alone func(context.Context) (answer, error)) (answer, error) {
	if r.call.wantsRows && len(r.Plan.Group.Returns) == 0 {
		return alone(ctx) // no rows would tell how many it has affected
	}
	v, turn := r.inGroup(ctx)
	defer r.passOn(turn)
	switch {
	case v.Outcome == slots.OutcomeAlone:
		if !turn.Led() {
			return alone(ctx)
		}
		began := time.Now()
		a, err := alone(ctx)
		if err == nil {
			r.conn.Shared.coalescer.NoteOnBase(began)
		}
		return a, err
	case v.Err != nil:
		return answer{}, v.Err
	case r.call.wantsRows:
		return answer{rows: r.asCalled(v.Result.(*groupResult).rows)}, nil
	}
	return answer{result: v.Result}, nil
}

// runBesideGroups runs the plan for this execution alone, beside groups. A group of several rows
// locks them in an order of its own, so the statement of a single row may be chosen as deadlock
// victim where the plain one would not: it is run again.
func (r *Run) runBesideGroups(ctx context.Context) (answer, error) {
	return r.runWithRetries(ctx, r.runAlone)
}

// inGroup runs the execution together with those that overlap with it, and returns its verdict:
// counted or refused, with its result; failed, with its error; or alone, if nothing has been applied
// and it is to run by itself. An execution that runs alone may have the turn, for which others wait.
func (r *Run) inGroup(ctx context.Context) (slots.Verdict, slots.Turn) {
	alone, co := slots.Verdict{Outcome: slots.OutcomeAlone}, r.conn.Shared.coalescer
	if r.Plan.Group == nil || !r.mayShare() {
		return alone, slots.Turn{}
	}
	var buf [128]byte
	var many [16]byte
	args, ok := r.groupArgs(buf[:0])
	if !ok {
		return alone, slots.Turn{}
	}
	alike := r.Plan.Group.SameSQL.Of(r.Plan.Values)
	hash := co.Hash(alike, args, r.conn.peers())
	if !r.inCrowd() {
		if turn, ok := co.Enter(hash); ok {
			return alone, turn
		}
	}
	m, signs, ok := r.member(ctx, args)
	if !ok {
		return alone, slots.Turn{}
	}
	// It may not share a statement with those of other rows, which adds signed numbers.
	rowOnly := r.unsignedShares(r.Plan.Group.Shares) != nil
	for range maxJoins {
		form := slots.Form{SQL: alike, Peers: r.conn.peers(), Shares: r.Plan.Group.Shares, Hash: hash}
		common := signs
		m.Key, m.Row = nil, slots.RowKey{}
		if !rowOnly && r.joinsMany(hash) && r.joinMany(m, &form) {
			common = manyArgs(many[:0], m)
			form.Hash = co.Hash(form.SQL, common, form.Peers)
		}
		v, turn := r.leadOrWait(ctx, m, co.Join(form, common, m))
		switch v.Outcome {
		case slots.OutcomeRetry, slots.OutcomeByRow, slots.OutcomeRejoin:
			rowOnly = v.Outcome == slots.OutcomeByRow
			continue
		}
		r.conn.spares.keepMember(m, v)
		r.noteDrawn(v)
		return v, turn
	}
	return alone, slots.Turn{}
}

// leadOrWait leads a batch, or waits for the member that leads (b is nil), until the execution has
// its verdict. A leader without other members has the turn, and runs alone.
func (r *Run) leadOrWait(ctx context.Context, m *slots.Member, b *slots.Batch) (slots.Verdict, slots.Turn) {
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
			v = r.leadGroup(ctx, m, v.Batch)
		}
	}
	return v, slots.Turn{}
}

// noteDrawn notes the number that the execution has drawn in a group by LAST_INSERT_ID(n + 1).
func (r *Run) noteDrawn(v slots.Verdict) {
	a, ok := v.Result.(*groupResult)
	if !ok || r.Plan.Group.InsertID == 0 || a.result.rows == 0 {
		return
	}
	if id, err := a.LastInsertId(); err == nil {
		r.conn.insertID.drew(id)
	}
}

// maxJoins bounds how often an execution joins a group without anything having been applied.
const maxJoins = 12

// groupArgs appends what the executions of a group have in common besides its statement.
func (r *Run) groupArgs(b []byte) ([]byte, bool) {
	kind := byte('e')
	if r.call.wantsRows {
		kind = 'q'
	}
	return r.commonArgs(append(b, kind), r.Plan.Group.Args)
}

// member returns the execution as a member of its group, and what members have in common; false if
// its arguments rule it out.
func (r *Run) member(ctx context.Context, args []byte) (*slots.Member, []byte, bool) {
	g := r.Plan.Group
	m := r.conn.spares.takeMember()
	m.Demands = m.Begin(len(g.Shares), len(g.Guards))
	if g.BeginsOtherwise() {
		m.Firsts = make([]int64, len(g.Shares))
	}
	m.Used, m.Context = r.conn.led, r.conn.Shared.traced(ctx)
	if !r.noNumbers(g.NotNumber) || !r.columnsAccept(g.Inserted) || !r.keyGiven() {
		return nil, nil, false
	}
	nothing := true
	var ok bool
	for i, s := range g.Shares {
		if m.Adds[i], ok = r.addsNumber(s); !ok {
			return nil, nil, false
		}
		if m.Firsts != nil {
			if m.Firsts[i], ok = r.beginsWith(s, m.Adds[i]); !ok {
				return nil, nil, false
			}
		}
		nothing = nothing && m.Adds[i] == 0
		// If all add, or all subtract, every value on the way lies between the first and the last.
		// So if both of those may be stored, all of them may.
		args = append(args, sign(m.Adds[i]))
	}
	for i, unsigned := range r.unsignedShares(g.Shares) {
		if unsigned { // so is the sum, which is refused below zero if one of the members' would be
			args = append(args, 'u', byte(i))
		}
	}
	if nothing { // engines differ in what that affects
		return nil, nil, false
	}
	for i, d := range g.Guards {
		if m.Demands[i], ok = r.demands(d); !ok {
			return nil, nil, false
		}
	}
	for _, a := range g.Args {
		if !a.Free || a.Total > 0 || a.Bound > 0 {
			continue
		}
		v, ok := r.value(a)
		if !ok {
			return nil, nil, false
		}
		free, ok := kept(v.Value)
		if !ok {
			return nil, nil, false
		}
		m.Free = append(m.Free, free)
	}
	return m, args, true
}

// keyGiven reports whether the arguments of an upsert give a key on which a second execution would
// conflict.
func (r *Run) keyGiven() bool {
	if r.Plan.Group.Upsert == nil {
		return true
	}
	for _, k := range r.Plan.Group.Upsert.Keys {
		v, ok := r.value(k.Arg)
		if !ok || mayBeNull(v.Value) {
			return false
		}
		if n, whole := integerOf(v.Value); k.Numbered && (!whole || n == 0) {
			return false
		}
	}
	for _, pair := range r.Plan.Group.Upsert.Equal {
		if !r.equal(pair[0], pair[1]) {
			return false
		}
	}
	return true
}

// equal reports whether two arguments are certainly equal.
func (r *Run) equal(a, b rewrite.Arg) bool {
	x, ok := r.value(a)
	y, also := r.value(b)
	if !ok || !also {
		return false
	}
	first, ok := slots.AppendValue(nil, x)
	second, also := slots.AppendValue(nil, y)
	return ok && also && bytes.Equal(first, second)
}

// sign returns - or + for a number, and 0 for zero.
func sign(n int64) byte { return "-0+"[1+cmp.Compare(n, 0)] }

// addsNumber is adds, but for numbers only: an engine may read a string as another number.
func (r *Run) addsNumber(s rewrite.Share) (int64, bool) {
	if s.Arg != nil && s.Scale == 0 {
		if v, ok := r.value(*s.Arg); !ok || !isInteger(v.Value) {
			return 0, false
		}
	}
	return r.adds(s)
}

// beginsWith returns what the execution has a new row begin with, which adds n to one that is there.
func (r *Run) beginsWith(s rewrite.Share, n int64) (int64, bool) {
	if s.First == nil {
		return n, true
	}
	s.Literal, s.Arg = s.First.Literal, s.First.Arg
	return r.addsNumber(s)
}

// demands returns the bound that the execution demands of a counter, in units of its last digit.
func (r *Run) demands(g rewrite.Guard) (int64, bool) {
	if g.Arg == nil {
		return g.Literal.Of(r.Plan.Values), true
	}
	v, ok := r.value(*g.Arg)
	scale := r.Plan.Group.Shares[g.Share].Scale
	if !ok || scale == 0 && !isInteger(v.Value) {
		return 0, false
	}
	n, ok := units(v.Value, scale)
	if g.Arg.Negate {
		n = -n
	}
	return n, ok && n >= -g.Max && n <= g.Max
}

// leadGroup runs the statement of a group, tells its members, and returns the leader's own
// verdict.
func (r *Run) leadGroup(ctx context.Context, m *slots.Member, b *slots.Batch) slots.Verdict {
	r.conn.led++
	g := &group{run: r, members: b.Members}
	if len(b.Rows) > 1 {
		return r.leadShared(ctx, m, b, func(ctx context.Context, r *Run) { g.run = r; g.leadMany(ctx, b) })
	}
	if r.drainsGroups() && !g.plan(ctx) {
		g.tell(slots.Verdict{Outcome: slots.OutcomeAlone}, b.Members...)
		m.Group.Next()
		return g.verdict
	}
	return r.leadShared(ctx, m, b, func(ctx context.Context, r *Run) { g.run = r; g.lead(ctx) })
}

// drainsGroups reports whether a group's statement needs a row without slots, as its members' do.
func (r *Run) drainsGroups() bool {
	return r.Plan.Class == rewrite.Drain || r.Plan.Increment != nil && r.Plan.Increment.Latest
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
		g.drained[b] = p
	}
	return true
}
