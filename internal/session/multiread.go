package session

import (
	"context"
	"database/sql/driver"
	"io"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A call by Query, each of whose statements is exact as one text, is sent in one call: queries of totals, and statements that run as they
// are. Nothing is drained for it but what the transaction has changed itself, and queries run where nothing may be written.
//
// Queries behind the last change are observed, as alone. One that has found slots runs again as a statement of its own, and so do those
// behind it, as the application comes to them. So nothing but queries is repeated, and each sees the newest state, or the snapshot of its
// transaction, as it does in the call.

// sentTogether runs such a call.
func sentTogether(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if r.call.wantsRows {
		a.rows, err = severalOf(r).sendTogether(ctx)
	}
	return a, a.rows != nil, err
}

// sendTogether returns no rows if the call is another one.
func (sv several) sendTogether(ctx context.Context) (driver.Rows, error) {
	if _, unprepared := sv.run.sender.(direct); !unprepared || sv.conn.ReadsDirty() {
		return nil, nil
	}
	var parts []*partRun
	queriesFrom := 0
	for i := range sv.run.Plan.Parts {
		part := sv.newPart(&sv.run.Plan.Parts[i])
		if !sv.standsAlone(part) {
			return nil, nil
		}
		if parts = append(parts, part); !part.returns {
			queriesFrom = i + 1
		}
	}
	sets, shaped := &resultSets{ctx: ctx}, false
	oneTx, lastOnly := sv.conn.Shared.Traits.MultiIsTx, sv.conn.Shared.Traits.OneWriter
	for i, part := range parts {
		part.observed = i >= queriesFrom && sv.mayObserve(i, queriesFrom > 0, part)
		if !part.observed {
			if err := part.CheckStars(ctx); err != nil {
				return nil, err
			}
			if part.of.Params > 0 && part.Plan.Read.Args != nil { // it takes others than the call's
				if sets.alone = queriesFrom == 0 && !oneTx && !lastOnly; !sets.alone {
					return nil, nil
				}
			}
		}
		if i < len(parts)-1 && lastOnly {
			continue // SQLite's drivers return the rows of the last statement
		}
		shaped = shaped || sets.alone || part.observed || part.Plan.Read.Types != nil
		if part.returns {
			sets.parts = append(sets.parts, part)
		}
		sets.uncertain = sets.uncertain || part.uncertain
	}
	switch {
	case !shaped:
		sets.parts = nil
	case sets.uncertain || lastOnly && !sets.parts[0].observed:
		return nil, nil
	case sets.alone:
		if err := sv.probeMulti(ctx); err != nil {
			return nil, err
		}
		sets.more = true
		if err := sets.begin(nil); err != nil {
			return nil, err
		}
		return sets, nil
	}
	return sv.query(ctx, parts, sets, queriesFrom > 0)
}

// query sends the statements in one call. If sets has none, each result is as the parent has it.
func (sv several) query(ctx context.Context, parts []*partRun, sets *resultSets, changes bool) (driver.Rows, error) {
	var touched []*schema.Table
	for _, part := range parts {
		touched = append(touched, part.Plan.Touched...)
	}
	if err := rowChangesOf(sv.run).drainChanges(ctx, touched); err != nil {
		return nil, err
	}
	var list []string
	for _, part := range parts {
		part.Plan.tally.statements.Add(1)
		if part.observed {
			list = append(list, part.of.InCall(sv.conn.Dialect(), part.Plan.Read.Observed.SQL.Of(part.Plan.Values)))
			continue
		}
		if part.Plan.Read.Types != nil && slices.Contains(sets.parts, part) {
			var err error
			if part.types, err = readingOf(part.Run).queryShape(ctx); err != nil {
				return nil, err
			}
		}
		part.Plan.tally.exact.Add(1)
		list = append(list, part.of.InCall(sv.conn.Dialect(), part.Plan.SQL))
	}
	call, args := strings.Join(list, "\n;"), link.JoinArgs(sv.run.call.options, sv.run.call.args) // a comment ends with its line
	var sent driver.Rows
	var err error
	if changes {
		sent, err = link.QueryChanging(ctx, &sv.conn.Conn, call, args)
	} else {
		sent, err = sv.conn.ParentQuery(ctx, call, args)
	}
	if len(sets.parts) == 0 {
		return sent, err
	}
	sets.sent, sets.more = sent, err != nil
	if err == nil {
		_, sets.more = sent.(driver.RowsNextResultSet)
	}
	if err := sets.begin(err); err != nil {
		if sent != nil {
			_ = sent.Close()
		}
		if changes {
			err = link.Settled(err)
		}
		return nil, err
	}
	return sets, nil
}

// partByPart runs a call by Query statement by statement, if its parent is MySQL's, which returns every result that has columns. What
// comes before the last change runs at once, as on the server.
func partByPart(ctx context.Context, r *Run) (a answer, done bool, err error) {
	sv, tr := severalOf(r), &r.conn.Shared.Traits
	if !r.call.wantsRows || tr.MultiIsTx || tr.OneWriter {
		return answer{}, false, nil
	}
	sets, changes := &resultSets{ctx: ctx, alone: true, more: true}, 0
	for i := range r.Plan.Parts {
		part := sv.newPart(&r.Plan.Parts[i])
		if part.uncertain || part.Plan.Effects != 0 || part.of.Dynamic {
			return answer{}, false, nil
		}
		if sets.parts = append(sets.parts, part); !part.returns {
			changes = i + 1
		}
	}
	if err := sv.probeMulti(ctx); err != nil {
		return answer{}, false, err
	}
	now := sets.parts[:changes]
	sets.parts = sets.parts[changes:]
	for _, part := range now {
		part.call.wantsRows = part.returns
		part.Plan.habit = r.conn.Shared.habits.Of(r.conn.Shared.Dialect, part.Plan.Plan, part.of.SQL)
		a, err := part.run(ctx)
		if err == nil && part.returns {
			a, _, err = a.counted()
			sets.read = append(sets.read, a.rows)
		}
		if sets.failed = err; err != nil {
			break
		}
	}
	if err := sets.begin(nil); err != nil {
		return answer{}, false, link.Settled(err)
	}
	return answer{rows: sets}, true, nil
}

// partRun is the execution of one statement of such a call.
type partRun struct {
	*Run
	of                 *rewrite.Part
	returns, uncertain bool // it returns rows; it is not certain whether it does
	observed           bool
	types              []ColumnType // of its columns, if they are not the parent's
}

func (sv several) newPart(p *rewrite.Part) *partRun {
	alone, given := planOf(p.Plan), sv.run.call
	alone.source, alone.tally = p.SQL, countsOf(sv.conn, p.Plan, p.SQL)
	if !sv.conn.Shared.Traits.ArgsRestart {
		given.args = argsOf(*p, given.args)
	}
	part := &partRun{Run: sv.conn.newRun(alone, sv.run.sender, given), of: p}
	rules := sv.conn.Dialect().LexRules()
	first := lex.NewScanner(rules, p.SQL).Next()
	switch strings.ToUpper(p.SQL[first.Start:first.End]) {
	case "SELECT", "VALUES", "TABLE":
		part.returns = p.Plan.Class == rewrite.Read || !lex.HasWord(rules, p.SQL, "into")
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		part.uncertain = lex.HasWord(rules, p.SQL, "returning")
	default:
		part.returns, part.uncertain = p.Plan.Class == rewrite.Read, p.Plan.Class != rewrite.Read
	}
	return part
}

// standsAlone reports whether a statement of a call is a query of totals, or runs as it is whatever slots there are. One that changes
// counters does so in autocommit, in a transaction of its own.
func (sv several) standsAlone(part *partRun) bool {
	p := part.Plan
	switch {
	case p.Effects != 0 || part.of.Dynamic || part.of.TxBegin || part.of.TxEnd:
		return false
	case len(p.Base.Changes) == 0 && (p.Class == rewrite.Read || p.Class == rewrite.PassThrough):
		return true
	case p.Increment != nil && !incrementOf(part.Run).fitsBase(), p.Class == rewrite.AdditiveBase && !part.args().FitBase(&p.Base):
		return false
	}
	return (p.Increment != nil || p.AsIs() || p.Class == rewrite.AdditiveBase) && p.ordinary && sv.conn.InAutocommit() &&
		!sv.conn.Shared.Traits.MultiIsTx
}

// mayObserve reports whether a query may be observed in the call. If that is one transaction, and so perhaps one snapshot, its first
// query is: the application has no rows then. Whether an error is that of the query has to be certain if it may be one of base values.
func (sv several) mayObserve(i int, changed bool, part *partRun) bool {
	tr := &sv.conn.Shared.Traits
	oneTx := tr.MultiIsTx && len(sv.run.call.args) == 0 // with arguments, only pgx sends them, which returns the first rows
	return part.Plan.Class == rewrite.Read && !(oneTx && i > 0) && readingOf(part.Run).observes() &&
		!(part.Plan.Read.Observed.MayFail && (changed || tr.MultiIsTx || tr.OneWriter))
}

// resultSets are the results of a call of several queries.
type resultSets struct {
	link.RowsBase // the set that is being read
	ctx           context.Context
	sent          driver.Rows
	parts         []*partRun // of the sets that follow
	uncertain     bool       // it is not known which statements they are of
	more          bool       // the parent returns more than one
	alone         bool       // those that follow run one by one
	// read are results that have been read, and come before those of parts, or before the error that ended the call.
	read   []driver.Rows
	failed error
}

// begin begins the next set; err is that of sending its query, or of the parent's next set.
func (s *resultSets) begin(err error) error {
	switch {
	case len(s.read) > 0:
		s.Rows, s.read = s.read[0], s.read[1:]
		return nil
	case s.failed != nil:
		return s.failed
	case len(s.parts) == 0: // no statement returns any
		s.Rows = &bufferedRows{}
		return nil
	}
	part := s.parts[0]
	s.parts = s.parts[1:]
	switch {
	case s.alone:
	case part.observed:
		if done, err := s.judge(part, err); done || err != nil {
			return err
		}
		s.alone = true
	default:
		if s.Rows = s.sent; err == nil && part.types != nil {
			s.Rows = readingOf(part.Run).withTypes(s.sent, part.types)
		}
		return err
	}
	a, err := part.run(s.ctx)
	if err == nil {
		s.Rows = a.rows
	}
	return err
}

// judge reads the first row of an observed query. If it is not done, the results of the call are closed, and the query has to run alone.
func (s *resultSets) judge(part *partRun, err error) (done bool, _ error) {
	rd := readingOf(part.Run)
	if err != nil {
		if err = rd.observedError(s.ctx, err); err == nil && s.sent != nil {
			_ = s.sent.Close()
		}
		return false, err
	}
	names := s.sent.Columns()
	if len(names) > 0 && strings.HasSuffix(names[len(names)-1], rewrite.SlotsColumn) {
		rows, err := rd.judge(s.ctx, s.sent, func() error { return nil })
		if rows != nil || err != nil {
			part.Plan.tally.observed.Add(1)
			s.Rows = rows
			return true, err
		}
	} else if !part.Plan.Read.Observed.DecidesRows { // lib/pq skips an empty result
		s.Rows, s.parts = s.sent, nil
		return true, nil
	}
	// An error of a statement behind this one comes when that runs alone, unless it has undone the whole call.
	if err = s.sent.Close(); !part.conn.Shared.Traits.MultiIsTx {
		err = nil
	}
	return false, err
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (s *resultSets) HasNextResultSet() bool {
	if s.alone {
		return s.more && (len(s.read)+len(s.parts) > 0 || s.failed != nil)
	}
	return link.RowsBase{Rows: s.sent}.HasNextResultSet()
}

// NextResultSet implements driver.RowsNextResultSet.
func (s *resultSets) NextResultSet() error {
	if s.alone {
		if !s.HasNextResultSet() {
			return io.EOF
		}
		if err := s.Rows.Close(); err != nil {
			return err
		}
		return s.begin(nil)
	}
	err := link.RowsBase{Rows: s.sent}.NextResultSet()
	if err == io.EOF || len(s.parts) == 0 {
		return err
	}
	return s.begin(err)
}
