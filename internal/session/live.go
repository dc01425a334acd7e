package session

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/slots"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// LiveStats is what one connector of this process does at the moment.
type LiveStats struct {
	Dialect string `json:"dialect"`
	// RollUp reports whether the connector runs a roll-up worker. Another process may hold the
	// lease.
	RollUp bool        `json:"rollup"`
	Parts  []int       `json:"parts"` // the leased part of the slots, for each cluster node; -1: none
	Tables []LiveTable `json:"tables"`
}

// LiveTable is one configured table of a connector.
type LiveTable struct {
	Table     string         `json:"table"`
	Mode      config.Mode    `json:"mode"`
	Layout    schema.Layout  `json:"layout"`
	Slots     int            `json:"slots"` // at most this many per row
	Placement string         `json:"placement"`
	OnDrain   schema.OnDrain `json:"on_drain"`
	Counters  []string       `json:"counters"`
	Hot       int            `json:"hot"` // rows that are hot
	Sleep     SleepStats     `json:"sleep"`
}

// SleepStats is whether the tables of one name sleep, as far as this process knows, and how it has read them.
type SleepStats struct {
	Dialect string `json:"dialect"`
	Table   string `json:"table"` // its own name, without its schema
	// Awake reports whether the table has slots. With a layout or placement whose increments always go to slots it is always true.
	Awake bool `json:"awake"`
	// Since is when that was found last to have changed; zero if the process has not seen a change.
	Since time.Time `json:"since,omitzero"`
	// WokenBy is what woke the table the last time: "an increment here", in this process, or "another process", whose slots were
	// found, or those of this one before it was restarted. It is "" if the process has not seen a change.
	WokenBy string `json:"woken_by,omitempty"`
	// Observed, FoldedFirst and Exact are the sums of those of StatementStats.
	Observed    uint64 `json:"observed"`
	FoldedFirst uint64 `json:"folded_first"`
	Exact       uint64 `json:"exact"`
	// Trial is the last trial of slots.
	Trial TrialStats `json:"trial,omitzero"`
}

// TrialStats is the last trial of slots for a table in this process: rows that transactions queue for keep them only if more
// increments of the table get done with slots than before.
type TrialStats struct {
	At   time.Time `json:"at,omitzero"` // when it ended; zero if there was none
	Kept bool      `json:"kept"`        // whether the slots have been kept
	// Before and With are increments of the table a second, on base rows and with slots; 0 where too few came to count.
	Before float64 `json:"before"`
	With   float64 `json:"with"`
}

// String says what the trial gave: "kept (417 increments/s before, 812 with slots)". It is "" if there was none.
func (t TrialStats) String() string {
	verdict := "refused"
	if t.Kept {
		verdict = "kept"
	}
	switch {
	case t.At.IsZero():
		return ""
	case t.Before == 0 && t.With == 0:
		return verdict + " (too few increments to count)"
	}
	return fmt.Sprintf("%s (%.0f increments/s before, %.0f with slots)", verdict, t.Before, t.With)
}

func (t TrialStats) orLater(other TrialStats) TrialStats {
	if other.At.After(t.At) {
		return other
	}
	return t
}

// live are the connectors that have connected and are not closed. The references are weak, so a
// connector that the program drops without closing it disappears as well.
var live sync.Map // weak.Pointer[Shared] -> true

// Begin adds the connector to those that Live returns.
func (s *Shared) Begin() {
	s.begun.Do(func() {
		p := weak.Make(s)
		live.Store(p, true)
		runtime.AddCleanup(s, func(p weak.Pointer[Shared]) { live.Delete(p) }, p)
	})
}

// end removes the connector from the list.
func (s *Shared) end() { live.Delete(weak.Make(s)) }

// Live returns the connectors of this process that have connected and are not closed,
// ordered by dialect and tables.
func Live() []LiveStats {
	var out []LiveStats
	live.Range(func(k, _ any) bool {
		if s := k.(weak.Pointer[Shared]).Value(); s != nil {
			out = append(out, s.live(time.Now()))
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b LiveStats) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), slices.CompareFunc(a.Tables, b.Tables, func(a, b LiveTable) int {
			return strings.Compare(a.Table, b.Table)
		}))
	})
	return out
}

// Sleeps returns whether the tables of the connectors that Live returns sleep, ordered by dialect and table. Of several
// connectors with a table of the same name, one whose table is awake decides.
func Sleeps() []SleepStats {
	var out []SleepStats
	for _, c := range Live() {
		for _, t := range c.Tables {
			out = append(out, t.Sleep)
		}
	}
	byTable := func(a, b SleepStats) int {
		return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Table, b.Table))
	}
	slices.SortStableFunc(out, func(a, b SleepStats) int {
		return cmp.Or(byTable(a, b), slots.TableSleep{Awake: b.Awake, Since: b.Since}.Compare(slots.TableSleep{Awake: a.Awake, Since: a.Since}))
	})
	one := out[:0] // for each table
	for _, s := range out {
		if n := len(one); n > 0 && byTable(one[n-1], s) == 0 {
			one[n-1].Trial = one[n-1].Trial.orLater(s.Trial)
		} else {
			one = append(one, s)
		}
	}
	return one
}

func (s *Shared) live(now time.Time) LiveStats {
	l := LiveStats{Dialect: s.Dialect.Name(), RollUp: s.Folding.Rolling.Load(), Parts: s.placement.Parts(), Tables: []LiveTable{}}
	hot, stored, stats := s.heat.HotRows(now), s.Stored(), Stats()
	for _, t := range s.Configured() {
		lt := LiveTable{
			Table: t.Name, Mode: t.Mode, Layout: t.Layout, Slots: t.Slots, Placement: string(t.Placement), OnDrain: t.OnDrain, Counters: []string{},
		}
		for _, c := range t.Counters {
			lt.Counters = append(lt.Counters, c.Column)
		}
		same := func(name string) bool { return s.Dialect.SameTable(ast.Ident{Name: t.Table, Quoted: true}, name) }
		var tried TrialStats
		state := slots.TableSleep{Awake: t.Slots > 0 && t.Mode != config.ModeShadow && schema.AlwaysAwake(t.Placement, t.Layout)}
		for _, st := range stored {
			if same(st.Table) {
				lt.Hot += hot[st.Slotted]
				tried = tried.orLater(TrialStats(s.heat.Trial(st.Slotted)))
				state = slices.MaxFunc([]slots.TableSleep{state, s.Folding.Sleep.State(st.Slotted)}, slots.TableSleep.Compare)
			}
		}
		lt.Sleep = SleepStats{
			Dialect: l.Dialect, Table: t.Table, Awake: state.Awake, Since: state.Since, WokenBy: string(state.Cause), Trial: tried,
		}
		for _, st := range stats {
			if st.Dialect == l.Dialect && slices.ContainsFunc(st.Tables, same) {
				lt.Sleep.Observed += st.Observed
				lt.Sleep.FoldedFirst += st.FoldedFirst
				lt.Sleep.Exact += st.Exact
			}
		}
		l.Tables = append(l.Tables, lt)
	}
	return l
}
