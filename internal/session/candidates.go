package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A drain of candidates, the rows with slots that a counter's condition may select by their totals or
// by their base values (rewrite/draincandidates.go), on an engine that drains rows by locking them.
//
// A query without locks comes first. It is a guess, by which the drain locks nearly all candidates in the order of
// their keys before it locks any slot. Outside transactions the session asks it before the drain's transaction begins; in a
// transaction of the application's another session does, so that no snapshot is taken. What decides is a locking
// read, which sees what is there now:
//
//   - Of an UPDATE it follows the statement. A row that the statement has touched is locked, and keeps the slots
//     that it had. So one that it should not have touched is found, as is one that it has missed.
//   - A DELETE leaves nothing to find. So its rows are locked first, by its own condition, and counted. The
//     locking read comes then, and the statement has to delete as many.
//
// Otherwise all is undone to a savepoint, more candidates are drained, and the statement runs again.

// candidateRows are those of one execution, by their keys.
type candidateRows struct {
	due  [][]any         // to be drained
	seen map[string]bool // due, or drained
	runs int             // of the statement that have been undone
}

// maxCandidateRuns is how often a statement runs before it drains all rows.
const maxCandidateRuns = 3

// guessCandidates looks for candidates where they may be drained alone. Where it cannot, all rows are.
func (r *Run) guessCandidates(ctx context.Context) {
	r.candidates = nil
	if !r.mayDrainCandidates() {
		return
	}
	find := &r.Plan.Drain.Tables[0].Look.Candidates.Find
	var found [][]any
	var err error
	if r.conn.InAutocommit() {
		found, err = r.find(ctx, find)
	} else {
		found, err = r.guessAside(ctx, find)
	}
	if err == nil {
		r.candidates = &candidateRows{seen: map[string]bool{}}
		r.candidates.add(found)
	}
}

// mayDrainCandidates reports whether candidates may be drained alone: on a single server, whose locks are all
// there are, as a user who may move slots, and for a statement that may run again.
func (r *Run) mayDrainCandidates() bool {
	if len(r.Plan.Drain.Tables) != 1 || !r.Plan.Drain.Repeats || len(r.call.options) > 0 || r.partsStay ||
		r.conn.Cluster || r.conn.Origin.RoleSet() {
		return false
	}
	d := &r.Plan.Drain.Tables[0]
	return d.Look.Candidates != nil && len(d.Table.Counter.Rights.Ungranted) == 0 && d.Table.Counter.Options.OnDrain == rewrite.OnDrainRun
}

// guessAside asks another session, which does not see what the transaction has changed.
func (r *Run) guessAside(ctx context.Context, find *rewrite.Bound) ([][]any, error) {
	n := r.conn.namer()
	if n == nil {
		return nil, errNoSide
	}
	args, err := r.values(find.Args)
	if err != nil {
		return nil, err
	}
	s := r.conn.Shared
	return s.sides.observers.query(ctx, s, n, nil, r.sql(find), args...)
}

// add notes candidates and reports whether one of them is new.
func (c *candidateRows) add(keys [][]any) bool {
	before := len(c.due)
	for _, k := range keys {
		if name := keyName(k); !c.seen[name] {
			c.seen[name] = true
			c.due = append(c.due, k)
		}
	}
	return len(c.due) > before
}

func keyName(key []any) string {
	var b strings.Builder
	for _, v := range key {
		s := link.TextOf(v)
		fmt.Fprintf(&b, "%d:%s", len(s), s)
	}
	return b.String()
}

// drainCandidates drains the candidates that are known, and has the rows of a DELETE locked, and all
// candidates drained, when it returns.
func (r *Run) drainCandidates(ctx context.Context, d *rewrite.DrainTable) error {
	r.Plan.tally.drained()
	for {
		if err := r.drainDue(ctx, d); err != nil || !r.Plan.Drain.Deletes {
			return err
		}
		locked, err := r.find(ctx, &d.Lock[0])
		if err != nil {
			return err
		}
		r.found = rowsOf(locked)
		if more, err := r.moreCandidates(ctx, d); !more || err != nil {
			return err
		}
	}
}

// drainDue locks and folds candidates.
func (r *Run) drainDue(ctx context.Context, d *rewrite.DrainTable) error {
	n := r.conn.namer()
	if n == nil {
		return unnameable(d.Table)
	}
	var locked [][]any
	for part := range slices.Chunk(r.candidates.due, maxNamed) {
		q := n.LockRows(d.Table, part)
		if q == "" {
			return unnameable(d.Table)
		}
		rows, err := r.conn.Session().Query(ctx, q)
		if err != nil {
			return err
		}
		locked = append(locked, rows...)
	}
	r.candidates.due = nil
	if len(locked) == 0 {
		return nil
	}
	_, err := r.foldNamed(ctx, d, locked)
	return err
}

// moreCandidates reports whether there are candidates that have not been drained.
func (r *Run) moreCandidates(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	found, err := r.find(ctx, &d.Look.Candidates.Locked)
	return err == nil && r.candidates.add(found), err
}

// misjudged reports whether a statement may have judged a row by a base value that is no total. Affected is
// how many rows it has affected.
func (r *Run) misjudged(ctx context.Context, d *rewrite.DrainTable, affected int64) (again bool, err error) {
	if r.Plan.Drain.Deletes {
		again = int(affected) != r.found
	} else {
		again, err = r.moreCandidates(ctx, d)
	}
	if again {
		if r.candidates.runs++; r.candidates.runs == maxCandidateRuns {
			r.candidates = nil
		}
	}
	return again, err
}
