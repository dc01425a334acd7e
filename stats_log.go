package slotsql

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/shadow"
	"github.com/slotsql/slotsql/internal/tally"
	"github.com/slotsql/slotsql/rewrite/ast"
)

// statsLogger logs what Stats and Shadows count, at the interval of log: {stats:
// 1m}, for programs that have no metrics library: one record for each kind of
// statement, with what has been counted since the previous record. It runs from
// the connector's first connection until the connector is closed.
type statsLogger struct {
	shared  *session.Shared
	last    map[string]session.StatementStats
	shadows map[string]shadow.Stats
}

// logStats starts the logger with the connector's first connection, if the
// configuration asks for one.
func (c *Connector) logStats() {
	every := c.shared.Config.StatsInterval()
	if every == 0 {
		return
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.statsLog != nil || c.closed {
		return
	}
	l := newStatsLogger(c.shared)
	c.statsLog = work(func(ctx context.Context) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for since := time.Now(); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			now := time.Now()
			l.log(context.WithoutCancel(ctx), now.Sub(since))
			if since = now; ctx.Err() != nil {
				return
			}
		}
	})
}

// newStatsLogger begins with what has been counted so far.
func newStatsLogger(s *session.Shared) *statsLogger {
	l := &statsLogger{shared: s, last: map[string]session.StatementStats{}, shadows: map[string]shadow.Stats{}}
	for _, st := range session.Stats() {
		l.last[kindOf(st.Dialect, st.Class, st.Reason, st.Scope, st.Tables)] = st
	}
	for _, st := range shadow.Totals() {
		l.shadows[kindOf(st.Dialect, st.Class, st.Reason, st.Scope, st.Tables)] = st
	}
	return l
}

func kindOf(dialect, class, reason, scope string, tables []string) string {
	return tally.Kind{Dialect: dialect, Class: class, Reason: reason, Scope: scope, Tables: tables}.Key()
}

// maxLogged is how many kinds of each are logged at a time, those with the most
// statements first.
const maxLogged = 50

// log writes what has been counted since the last call. A kind with no new
// statements is left out.
func (l *statsLogger) log(ctx context.Context, over time.Duration) {
	var grown []session.StatementStats
	for _, st := range session.Stats() {
		if !l.concerns(st.Dialect, st.Tables) {
			continue
		}
		kind := kindOf(st.Dialect, st.Class, st.Reason, st.Scope, st.Tables)
		was := l.last[kind]
		l.last[kind] = st
		st.Statements, st.Drains = st.Statements-was.Statements, st.Drains-was.Drains
		st.Fallbacks, st.Coalesced = st.Fallbacks-was.Fallbacks, st.Coalesced-was.Coalesced
		st.Cold, st.Grouped, st.Slotted, st.Heated = st.Cold-was.Cold, st.Grouped-was.Grouped, st.Slotted-was.Slotted, st.Heated-was.Heated
		st.Tickets, st.Observed = st.Tickets-was.Tickets, st.Observed-was.Observed
		st.FoldedFirst, st.Exact = st.FoldedFirst-was.FoldedFirst, st.Exact-was.Exact
		if st.Statements+st.Drains+st.Fallbacks+st.Coalesced > 0 {
			grown = append(grown, st)
		}
	}
	slices.SortStableFunc(grown, func(a, b session.StatementStats) int { return cmp.Compare(b.Statements, a.Statements) })
	for _, st := range grown[:min(len(grown), maxLogged)] {
		l.shared.Log().InfoContext(ctx, "slotsql: statements", "tables", st.Tables, "class", st.Class, "reason", st.Reason,
			"scope", st.Scope, "over", over,
			"statements", st.Statements, "drains", st.Drains, "fallbacks", st.Fallbacks, "coalesced", st.Coalesced,
			"cold", st.Cold, "grouped", st.Grouped, "slotted", st.Slotted, "heated", st.Heated, "tickets", st.Tickets,
			"observed", st.Observed, "folded_first", st.FoldedFirst, "exact", st.Exact)
	}
	l.logShadows(ctx, over)
}

func (l *statsLogger) logShadows(ctx context.Context, over time.Duration) {
	var grown []shadow.Stats
	for _, st := range shadow.Totals() {
		if !l.concerns(st.Dialect, st.Tables) {
			continue
		}
		kind := kindOf(st.Dialect, st.Class, st.Reason, st.Scope, st.Tables)
		was := l.shadows[kind]
		l.shadows[kind] = st
		st.Statements -= was.Statements
		st.Compared, st.Differences, st.Behind = st.Compared-was.Compared, st.Differences-was.Differences, st.Behind-was.Behind
		st.Undecided, st.NotCompared, st.Failed = st.Undecided-was.Undecided, st.NotCompared-was.NotCompared, st.Failed-was.Failed
		if st.Statements+st.Compared+st.NotCompared+st.Failed > 0 {
			grown = append(grown, st)
		}
	}
	slices.SortStableFunc(grown, func(a, b shadow.Stats) int { return cmp.Compare(b.Statements, a.Statements) })
	for _, st := range grown[:min(len(grown), maxLogged)] {
		l.shared.Log().InfoContext(ctx, "slotsql: shadow", "tables", st.Tables, "class", st.Class, "reason", st.Reason,
			"scope", st.Scope, "over", over,
			"statements", st.Statements, "compared", st.Compared, "differences", st.Differences, "behind", st.Behind,
			"undecided", st.Undecided, "not_compared", st.NotCompared, "failed", st.Failed, "why", st.Why)
	}
}

// concerns reports whether the configuration names the tables: the counts are
// those of the whole process.
func (l *statsLogger) concerns(dialect string, tables []string) bool {
	if dialect != l.shared.Dialect.Name() {
		return false
	}
	configured := l.shared.Config.Tables()
	for _, name := range tables {
		if !slices.ContainsFunc(configured, func(t config.TableConfig) bool {
			return l.shared.Dialect.SameTable(ast.Ident{Name: t.Table, Quoted: true}, name)
		}) {
			return false
		}
	}
	return true
}
