package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// Scenario is one way to count. Its methods but Increment and Read are called
// one at a time.
type Scenario interface {
	// Setup creates what the scenario needs and opens a connection per client.
	Setup(ctx context.Context) error
	// Increment adds one to the client's next counter, or takes one from its next
	// budget. No error means that the database has acknowledged it.
	Increment(ctx context.Context, c *Client) error
	// Read reads one counter as an application does.
	Read(ctx context.Context, c *Client) error
	// Total returns the sum of all counters, or what is left of all budgets.
	Total(ctx context.Context) (int64, error)
	// Teardown removes what Setup has created, also when that has failed
	// halfway.
	Teardown(ctx context.Context) error
}

// Client is one of the clients that drive a scenario.
type Client struct {
	rng     *rand.Rand
	keys    *keys
	retries int64 // of the operation under way
}

// Key picks the counter of the next operation, from 1.
func (c *Client) Key() int64 { return c.keys.pick(c.rng) }

// Slot picks one of so many slots, from 0.
func (c *Client) Slot(slots int) int { return c.rng.IntN(slots) }

// ScenarioInfo describes a scenario to people.
type ScenarioInfo struct {
	Name  string `json:"name"` // as in --scenarios
	Title string `json:"title"`
	About string `json:"about"`
}

// kind is a scenario that can be made.
type kind struct {
	ScenarioInfo
	redis bool
	loses bool // acknowledged operations, by its nature: that is no fault of the run
	new   func(w *workload) Scenario
	// not says why the scenario does not apply; empty when it does. It may be
	// nil.
	not func(w *run, p Point) string
}

// workload is what a scenario is made for.
type workload struct {
	*run
	point Point
	name  string // what the names of its tables begin with
}

// kinds lists the scenarios in the order of reports.
var kinds = []kind{
	{ScenarioInfo: ScenarioInfo{"naive", "naive", "UPDATE ... SET views = views + 1, the plain driver"}, new: newNaive},
	{
		ScenarioInfo: ScenarioInfo{
			"for-update",
			"SELECT FOR UPDATE",
			"lock the row, read it, write it back, commit (BEGIN IMMEDIATE on SQLite)",
		},
		new: newForUpdate,
	},
	{
		ScenarioInfo: ScenarioInfo{lockFreeName, "lock-free", "read, then UPDATE ... WHERE views = what was read, again until it succeeds"},
		new:          newLockFree,
	},
	{
		ScenarioInfo: ScenarioInfo{
			"slots",
			"hand-written slots",
			"upsert of a random slot, sums when reading: other statements in the application",
		},
		new: newSlots,
	},
	{
		ScenarioInfo: ScenarioInfo{"skip-locked", "SKIP LOCKED", "hand-written slots, picking one that is not locked"},
		new:          newSkipLocked,
		not:          noSkipLocked,
	},
	{ScenarioInfo: ScenarioInfo{"wrapped", "slotsql", "the naive statement through slotsql"}, new: newWrapped},
	{
		ScenarioInfo: ScenarioInfo{
			"wrapped-no-coalesce",
			"slotsql, coalesce: false",
			"the naive statement through slotsql, concurrent increments not summed up",
		},
		new: newWrappedNoCoalesce,
	},
	{
		ScenarioInfo: ScenarioInfo{"redis", "Redis", "INCR, for scale: another server, no transaction"},
		new:          newRedis,
		not:          noRedis,
		redis:        true,
	},
}

// The scenarios that others are compared with.
const (
	naiveName    = "naive"
	lockFreeName = "lock-free"
	wrappedName  = "wrapped"
)

// Scenarios describes all scenarios.
func Scenarios() []ScenarioInfo {
	list := make([]ScenarioInfo, len(kinds))
	for i := range kinds {
		list[i] = kinds[i].ScenarioInfo
	}
	return list
}

func kindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

func (k *kind) inapplicable(b *run, p Point) string {
	if k.not == nil {
		return ""
	}
	return k.not(b, p)
}

// maxPrepared bounds the slot rows that are created before the clock starts.
const maxPrepared = 200_000

func noSkipLocked(b *run, p Point) string {
	switch {
	case b.Engine.skipLocked == nil:
		return b.Engine.Name + " has no SKIP LOCKED"
	case b.Plan.Keys*p.Slots > maxPrepared:
		return fmt.Sprintf("needs all slot rows beforehand, and these would be more than %d", maxPrepared)
	}
	return ""
}

func noRedis(_ *run, p Point) string {
	if p.Transaction != (Transaction{}) {
		return "Redis is not part of the database's transaction"
	}
	return ""
}
