package session

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/rewrite"
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
	Table     string          `json:"table"`
	Mode      config.Mode     `json:"mode"`
	Layout    rewrite.Layout  `json:"layout"`
	Slots     int             `json:"slots"` // at most this many per row
	Placement string          `json:"placement"`
	OnDrain   rewrite.OnDrain `json:"on_drain"`
	Counters  []string        `json:"counters"`
	Hot       int             `json:"hot"`     // rows that are hot
	Crowded   bool            `json:"crowded"` // the table is hot as a whole
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

func (s *Shared) live(now time.Time) LiveStats {
	l := LiveStats{Dialect: s.Dialect.Name(), RollUp: s.Folding.Rolling.Load(), Parts: s.placement.Parts(), Tables: []LiveTable{}}
	hot, stored := s.heat.HotRows(now), s.Stored()
	for _, t := range s.Configured() {
		lt := LiveTable{
			Table: t.Name, Mode: t.Mode, Layout: t.Layout, Slots: t.Slots, Placement: string(t.Placement), OnDrain: t.OnDrain, Counters: []string{},
		}
		for _, c := range t.Counters {
			lt.Counters = append(lt.Counters, c.Column)
		}
		for _, st := range stored {
			if s.Dialect.SameTable(rewrite.Ident{Name: t.Table, Quoted: true}, st.Table) {
				lt.Hot += hot[st.Slotted]
				lt.Crowded = lt.Crowded || s.heat.Crowded(st.Slotted)
			}
		}
		l.Tables = append(l.Tables, lt)
	}
	return l
}
