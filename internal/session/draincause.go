package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite"
)

// Why an execution drains, for the log of on_drain: warn.

// drainCause is why an execution drains whose plan need not.
type drainCause int

const (
	byPlan         drainCause = iota // its class is drain: the plan has the reason
	noRowAffected                    // the slotted statement has affected no row
	outOfRange                       // a value has come to the end of its range
	argumentUnfit                    // a slot does not take one of the arguments
	rowsAskedFor                     // an increment is run as a query
	readAfterwards                   // locked first: transactions that run it read the row afterwards
	roleUnknown                      // the session may have another role than the one whose rights are known
	heldToSnapshot                   // locked first: the transaction's snapshot has been read
	rowCooled                        // the row's slots are to go
)

func (c drainCause) String() string {
	switch c {
	case noRowAffected:
		return "an increment fell back, because its statement affected no row: the row does not exist, its counter is NULL or near the end of its range, or a condition of WHERE is false"
	case outOfRange:
		return "an increment fell back: a value is near the end of its range"
	case argumentUnfit:
		return "an increment fell back: an argument is not a number that a slot accepts (an integer for an integer counter, not 0, not near the end of its range)"
	case rowsAskedFor:
		return "an increment is run as a query, which returns the rows as they are afterwards"
	case readAfterwards:
		return "locked first: transactions that run this statement read a counter of its row afterwards"
	case roleUnknown:
		return "the session has sent SET ROLE, and the rights of its role are not known"
	case heldToSnapshot:
		return "locked first: the transaction has read counters of the table at an isolation level that checks its changes against its snapshot"
	case rowCooled:
		return "the row is no longer hot, and has slots"
	}
	return ""
}

// The cause noRowAffected, once the drain has looked for the row to lock it.
const (
	missingRow = "an increment fell back: there is no such row"
	presentRow = "an increment fell back: its row exists, but its counter is NULL or near the end of its range, or a condition of WHERE is false"
)

// fellBack reports whether an increment that drains for this cause might have gone to a slot, if its row and its arguments were others.
func (c drainCause) fellBack() bool {
	return c == noRowAffected || c == outOfRange || c == argumentUnfit || c == roleUnknown
}

// warn logs a drain of a table with on_drain: warn. Some reports whether the drain's lock, if it
// looks for a row, has found one. A drain that is not for a statement is not logged.
func (dr *drain) warn(ctx context.Context, d *rewrite.DrainTable, some bool) {
	if dr.run.Plan.SQL == "" {
		return
	}
	class, reason := dr.run.Plan.Reported(), dr.run.Plan.Reason
	switch {
	case dr.reason != "":
		class, reason = rewrite.Drain, dr.reason
	case dr.run.cause != byPlan:
		reason = dr.run.cause.String()
	}
	if dr.run.cause == noRowAffected && lockOfKey(d) {
		reason = missingRow
		if some {
			reason = presentRow
		}
	}
	s := dr.conn.Shared
	// A shape has none of the application's values: neither arguments nor literals.
	statement := digest.Text(s.Dialect.LexRules(), dr.run.Plan.SQL)
	withheld, ok := s.warned.drains.due(strings.Join([]string{d.Table.Name, reason, statement}, "\x00"), time.Now())
	if !ok {
		return
	}
	attrs := []any{"table", d.Table.Name, "class", string(class), "reason", reason, "scope", d.Scope(), "statement", statement}
	if withheld > 0 {
		attrs = append(attrs, "withheld", withheld)
	}
	s.Log().WarnContext(ctx, "slotsql: a statement drains a counter table", attrs...)
}

// warnings limits how often the same warning is logged: so many times in a window.
type warnings struct {
	window time.Duration
	burst  int

	mu   sync.Mutex
	last map[string]*warning
}

// warning counts what has been done with one warning in the window that began at since.
type warning struct {
	since            time.Time
	logged, withheld int
}

const maxWarnings = 1000 // that are remembered

// due reports whether a warning is to be logged, and how many like it have been
// withheld since the last one.
func (w *warnings) due(key string, now time.Time) (withheld int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.last[key]
	if last == nil {
		if w.last == nil || len(w.last) >= maxWarnings {
			w.last = map[string]*warning{}
		}
		last = &warning{since: now}
		w.last[key] = last
	}
	if now.Sub(last.since) >= w.window {
		last.since, last.logged = now, 0
	}
	if last.logged == w.burst {
		last.withheld++
		return 0, false
	}
	withheld, last.withheld = last.withheld, 0
	last.logged++
	return withheld, true
}
