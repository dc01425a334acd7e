package history_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/history"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	seed   = flag.Uint64("histories.seed", 1, "seed of the histories")
	first  = flag.Int("histories.first", 0, "number of the first history")
	number = flag.Int("histories.n", usual(), "histories per engine and isolation level")
)

// usual is the number in SLOTSQL_HISTORIES, else 100.
func usual() int {
	if n, err := strconv.Atoi(os.Getenv("SLOTSQL_HISTORIES")); err == nil {
		return n
	}
	return 100
}

// Sessions are killed, which the driver would log.
func init() { _ = mysql.SetLogger(&mysql.NopLogger{}) }

// TestHistories: what clients of the wrapped driver saw is what the plain
// database could have shown them.
func TestHistories(t *testing.T) {
	eachLevel(t, func(t *testing.T, o history.Options, wrapped, under *sql.DB) {
		o.DB, o.Under = wrapped, under
		explained(t, o, *number)
	})
}

// TestHistoriesRolledUp: neither does a roll-up beside them show, which is at work
// all the time and deletes slot rows as soon as they are empty.
func TestHistoriesRolledUp(t *testing.T) { rolledUp(t, history.Dedicated, max(*number/2, 1)) }

// TestHistoriesLayouts: nor does it show how slots are laid out: in a table that
// several tables share, of slotsql's own making or of another program's, or as a
// journal.
func TestHistoriesLayouts(t *testing.T) {
	for _, layout := range history.Layouts[1:] {
		t.Run(string(layout), func(t *testing.T) {
			eachLevelWith(t, layout, "", func(t *testing.T, o history.Options, wrapped, under *sql.DB) {
				o.DB, o.Under = wrapped, under
				explained(t, o, max(*number/4, 1))
			})
		})
	}
}

// TestHistoriesLayoutsRolledUp: nor both together. A journal's rows are moved a few
// at a time, and those that cannot be moved are put together.
func TestHistoriesLayoutsRolledUp(t *testing.T) {
	for _, layout := range history.Layouts[1:] {
		if layout == history.None {
			continue // there is nothing to roll up
		}
		t.Run(string(layout), func(t *testing.T) { rolledUp(t, layout, max(*number/4, 1)) })
	}
}

// TestHistoriesTwoProcesses: nor does it show that another process counts the same rows, which knows nothing of
// what this one has found out about them.
func TestHistoriesTwoProcesses(t *testing.T) {
	for _, layout := range []history.Layout{history.Dedicated, history.Adaptive} {
		t.Run(string(layout), func(t *testing.T) {
			eachPair(t, layout, "", func(t *testing.T, o history.Options, wrapped, second, under *sql.DB) {
				o.DB, o.Second, o.Under = wrapped, second, under
				explained(t, o, max(*number/4, 1))
			})
		})
	}
}

// rolledUp runs histories beside a roll-up that never rests.
func rolledUp(t *testing.T, layout history.Layout, n int) {
	before := moved()
	t.Cleanup(func() {
		for dialect, n := range moved() {
			if n == before[dialect] && layout != history.Adaptive { // of which a row may stay cold
				t.Errorf("%s: nothing has been rolled up", dialect)
			}
		}
		for _, s := range slotsql.RollUps() {
			if s.Errors > 0 {
				t.Errorf("%+v", s)
			}
			t.Logf("%+v", s)
		}
	})
	eachLevelWith(
		t,
		layout,
		"rollup: {interval: 1ms, idle: 4ms, batch: 3}\n",
		func(t *testing.T, o history.Options, wrapped, under *sql.DB) {
			o.DB, o.Under, o.RolledUp = wrapped, under, true
			explained(t, o, n)
			for tries := 0; tries < 5 && moved()[o.Dialect] == before[o.Dialect] && layout != history.Adaptive && *number > 1; tries++ {
				o.Seed++ // of a few histories all may leave nothing to move
				explained(t, o, n)
			}
		},
	)
}

// moved is how many slot rows have been rolled up, by dialect.
func moved() map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range slotsql.RollUps() {
		out[s.Dialect] += s.Moved
	}
	return out
}

// TestPlain: the model explains what the plain driver does, which is the
// definition of right. Layouts with bounds have statements of their own.
func TestPlain(t *testing.T) {
	for layout, share := range map[history.Layout]int{history.Dedicated: 5, history.Bounded: 20, history.Limited: 20} {
		t.Run(string(layout), func(t *testing.T) {
			eachLevelWith(t, layout, "", func(t *testing.T, o history.Options, _, under *sql.DB) {
				o.DB, o.Calls = under, false // what they count in slots the plain driver does not read
				explained(t, o, max(*number/share, 1))
			})
		})
	}
}

// TestFaults: the model does not explain a database that loses an increment,
// counts one twice, counts one on a row that is not there, ignores a condition on
// a counter, or shows something that is not so: neither as plain nor where it makes
// room for slots.
func TestFaults(t *testing.T) {
	eachLevel(t, func(t *testing.T, o history.Options, wrapped, under *sql.DB) {
		calls := o.Calls
		for _, o.Fault = range history.Faults {
			o.DB, o.Under, o.Calls = under, nil, false
			t.Logf("%s: found in history %d", o.Fault, findFault(t, o))
			o.DB, o.Under, o.Calls = wrapped, under, calls
			t.Logf("%s: found in history %d through slotsql", o.Fault, findFault(t, o))
		}
	})
}

// findFault runs histories until one is not explained.
func findFault(t *testing.T, o history.Options) (tried int) {
	t.Helper()
	const limit = 300
	found := errors.New("found")
	err := history.Run(t.Context(), o, 0, limit, func(h *history.History) error {
		tried++
		if _, err := history.Check(h); err != nil && !errors.As(err, new(*history.Torn)) {
			return found
		}
		return nil
	})
	if err == nil {
		t.Errorf("%s: not found in %d histories", o.Fault, limit)
	} else if !errors.Is(err, found) {
		t.Error(err)
	}
	return tried
}

// maxUnlearned is how many histories of a database may have deadlocks from which
// slotsql learns, and one in a hundred; more where they have bounds.
const maxUnlearned = 8

// maxTorn is how many histories of a database may have reads that MariaDB has torn, and
// one in a hundred.
const maxTorn = 1

// explained runs histories and checks them. After each of them comes what is to come then.
func explained(t *testing.T, o history.Options, n int, after ...func(*history.History)) {
	undecided, violations, unlearned, torn := 0, 0, 0, 0
	classes := map[string]int{}
	var checking time.Duration
	start := time.Now()
	err := history.Run(t.Context(), o, *first, *first+n, func(h *history.History) error {
		for _, txs := range h.Clients {
			for _, x := range txs {
				classes[x.Class]++
			}
		}
		for _, f := range after {
			f(h)
		}
		began := time.Now()
		gaveUp, err := history.Check(h)
		checking += time.Since(began)
		if gaveUp {
			undecided++
		}
		if u := (*history.Unlearned)(nil); errors.As(err, &u) {
			limit := maxUnlearned + n/100
			if o.Layout.HasBounds() {
				limit += n / 5 // each of their forms learns by itself, and 6 of 25 did on a busy machine
			}
			if o.Second != nil {
				limit *= 2 // each process learns by itself
			}
			if unlearned++; unlearned <= limit {
				return nil
			}
		}
		if errors.As(err, new(*history.Torn)) {
			if torn++; torn <= maxTorn+n/100 {
				t.Log(err)
				return nil
			}
		}
		if err != nil {
			t.Errorf(
				"%v\ngo test ./integration/history -run '^%s$' -histories.seed=%d -histories.first=%d -histories.n=1",
				err,
				t.Name(),
				h.Seed,
				h.Number,
			)
			if violations++; violations == 3 {
				return errors.New("no more histories after three violations")
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if undecided > max(n/100, 1) {
		t.Errorf("%d of %d histories have too many orders to be searched", undecided, n)
	}
	t.Logf("%d histories in %v, %v of it checking; %d undecided; %d to learn from; transactions by error: %v",
		n, time.Since(start).Round(time.Millisecond), checking.Round(time.Millisecond), undecided, unlearned, classes)
}

// eachLevel makes a database for every engine and isolation level.
func eachLevel(t *testing.T, f func(t *testing.T, o history.Options, wrapped, under *sql.DB)) {
	eachLevelWith(t, history.Dedicated, "", f)
}

// eachLevelWith does so with a layout and more of a configuration. The subtests end after
// it has returned.
func eachLevelWith(t *testing.T, layout history.Layout, more string, f func(t *testing.T, o history.Options, wrapped, under *sql.DB)) {
	eachPair(t, layout, more, func(t *testing.T, o history.Options, wrapped, _, under *sql.DB) { f(t, o, wrapped, under) })
}

// eachPair does so for two processes on each database.
func eachPair(t *testing.T, layout history.Layout, more string, f func(t *testing.T, o history.Options, wrapped, second, under *sql.DB)) {
	for _, dialect := range []string{"sqlite", "mysql", "postgres"} {
		for _, level := range history.Levels(dialect) {
			t.Run(dialect+"-"+strings.ReplaceAll(level, " ", ""), func(t *testing.T) {
				t.Parallel() // the engines wait for their clients more than they work
				options := twin.Options{Dialect: dialect, Schema: layout.Schema(dialect), Config: layout.Config() + more}
				switch dialect {
				case "mysql":
					options.Params = server.Isolated(t, strings.ReplaceAll(level, " ", "-"))
				case "postgres":
					for _, set := range []string{"default_transaction_isolation = '" + strings.ToLower(level) + "'", "deadlock_timeout = '10ms'"} {
						options.Schema = append(
							options.Schema[:len(options.Schema):len(options.Schema)],
							fmt.Sprintf(
								"DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET ', current_database()) || $x$%s$x$; END $$",
								set,
							),
						)
					}
				}
				p := twin.New(t, options)
				open := func(db *sql.DB, err error) *sql.DB {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = db.Close() })
					return db
				}
				wrapped, under, dsn := p.Wrapped, p.Under, p.WrappedDSN
				if dialect == "sqlite" {
					dsn = strings.Replace(p.WrappedDSN, "journal_mode(WAL)", "journal_mode("+level+")&_pragma=synchronous(OFF)", 1)
					wrapped, under = open(twin.OpenWrapped("sqlite", dsn, p.ConfigPath)), open(sql.Open("sqlite", dsn))
				}
				calls := layout.Functions(dialect)
				if calls {
					if err := p.Wrapped.PingContext(t.Context()); err != nil {
						t.Fatal(err)
					}
					if _, err := slotsql.MigrateStored(t.Context(), twin.Connector(t, p), slotsql.Stored{Functions: true}); err != nil {
						t.Fatal(err)
					}
				}
				second := open(twin.OpenWrapped(twin.Plain[dialect], dsn, p.ConfigPath))
				f(t, history.Options{Dialect: dialect, Level: level, Layout: layout, Seed: *seed, Calls: calls}, wrapped, second, under)
			})
		}
	}
}
