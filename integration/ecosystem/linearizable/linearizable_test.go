// Package linearizable has porcupine, a checker by others, judge concurrent histories of one row outside transactions. Some order of the
// statements must agree with real time and give each statement its result.
package linearizable

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	number = flag.Int("linearizable.n", 40, "histories for each engine and configuration")
	seed   = flag.Uint64("linearizable.seed", 1, "seed of the histories")
)

const (
	clients    = 6
	statements = 9 // of each client
)

// configs are those of the table, by name.
var configs = map[string]string{
	"slots":    "counters: {n: {}}, slots: 8, placement: connection",
	"bounded":  "counters: {n: {min: 0}}, slots: 8, placement: connection",
	"adaptive": "counters: {n: {}}, slots: 8",
	"groups":   "counters: {n: {}}, slots: 0",
}

// fault is a mistake made on purpose, to see that porcupine finds it.
type fault string

const (
	lost       fault = "an increment is lost"
	untouched  fault = "a touch is lost"
	twoWinners fault = "two statements win with one version"
	drawnTwice fault = "a number is drawn twice"
	oversold   fault = "a refused decrement is reported as done"
	stale      fault = "a read shows the row that was read before"
)

// history runs clients against one row.
type history struct {
	*twin.Pair
	t       *testing.T
	id      int
	calls   bool
	fault   fault
	clock   time.Time
	version atomic.Int64 // the newest that a client has seen
	before  atomic.Pointer[row]
	values  atomic.Int64 // of touches that are all different
}

// run returns the initial row, and what the clients did. It leaves out statements that did nothing because the database was busy or made
// them deadlock victims.
func (h *history) run(rnd *rand.Rand) (row, []porcupine.Operation) {
	initial := row{n: int64(rnd.IntN(6))}
	twin.ExecAll(h.t, h.Wrapped, fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 0, 0)", h.id, initial.n))
	h.clock = time.Now()
	var mu sync.Mutex
	var ops []porcupine.Operation
	var wg sync.WaitGroup
	weights := []kind{add, add, take, take, set, draw, touch, touch, compare, compare, read, read}
	if h.calls {
		weights = append(weights, call)
	}
	switch one := weights[rnd.IntN(len(weights))]; rnd.IntN(3) { // few kinds, so that many share a statement
	case 0:
		weights = []kind{one, one, one, read}
	case 1:
		weights = []kind{one, weights[rnd.IntN(len(weights))], compare, read}
	}
	few := rnd.IntN(2) == 0 // values of touches: on MySQL, only touches with the same one share a statement
	for c := range clients {
		mine := rand.New(rand.NewPCG(rnd.Uint64(), uint64(c)))
		wg.Go(func() {
			for range statements {
				in := input{weights[mine.IntN(len(weights))], int64(1 + mine.IntN(4))}
				switch in.kind {
				case touch:
					if !few {
						in.value = h.values.Add(1)
					}
				case compare:
					in.value = h.version.Load()
				}
				start := time.Since(h.clock)
				out, err := h.send(in)
				end := time.Since(h.clock)
				if err != nil {
					if !twin.Retryable(err) {
						h.t.Errorf("%s: %v", names[in.kind], err)
					}
					continue
				}
				mu.Lock()
				ops = append(ops, porcupine.Operation{ClientId: c, Input: in, Output: out, Call: int64(start), Return: int64(end)})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return initial, ops
}

// statementsOf are the statements. Their arguments are the value and the row's key, except that a read has only the key, and take the value
// once more.
var statementsOf = map[kind]string{
	add:     "UPDATE t SET n = n + ? WHERE id = ?",
	take:    "UPDATE t SET n = n - ? WHERE id = ? AND n >= ?",
	set:     "UPDATE t SET n = ? WHERE id = ?",
	draw:    "UPDATE t SET n = n + ? WHERE id = ? RETURNING n",
	touch:   "UPDATE t SET seen = ? WHERE id = ?",
	compare: "UPDATE t SET version = version + 1 WHERE version = ? AND id = ?",
	read:    "SELECT n, version, seen FROM t WHERE id = ?",
}

// send runs a statement.
func (h *history) send(in input) (out output, err error) {
	ctx := context.WithoutCancel(h.t.Context())
	query, args := twin.Placeholders(h.Dialect, statementsOf[in.kind]), []any{in.value, h.id}
	switch {
	case in.kind == read:
		err = h.Wrapped.QueryRowContext(ctx, query, h.id).Scan(&out.row.n, &out.row.version, &out.row.seen)
		h.version.Store(max(h.version.Load(), out.row.version))
		got := out.row
		if old := h.before.Swap(&got); h.fault == stale && old != nil {
			out.row = *old
		}
		return out, err
	case in.kind == call:
		err = h.Under.QueryRowContext(ctx, fmt.Sprintf("SELECT t_count(%d, %d)", h.id, in.value)).Scan(&out.affected)
		return out, err
	case in.kind == draw && h.Dialect != "mysql":
		err = h.Wrapped.QueryRowContext(ctx, query, args...).Scan(&out.drawn)
	case h.fault == lost && in.kind == add && in.value > 3, h.fault == untouched && in.kind == touch && in.value%4 == 0:
		out.affected = 1
	default:
		if in.kind == take {
			args = append(args, in.value)
		}
		var res sql.Result
		if in.kind == draw {
			query = "UPDATE t SET n = LAST_INSERT_ID(n + ?) WHERE id = ?"
		}
		if res, err = h.Wrapped.ExecContext(ctx, query, args...); err != nil {
			return out, err
		}
		if in.kind == draw {
			out.drawn, err = res.LastInsertId()
		} else {
			out.affected, err = res.RowsAffected()
		}
	}
	switch {
	case h.fault == twoWinners && in.kind == compare, h.fault == oversold && in.kind == take:
		out.affected = 1
	case h.fault == drawnTwice && in.kind == draw && in.value > 3:
		out.drawn--
	}
	if in.kind == compare && out.affected == 1 {
		h.version.Store(max(h.version.Load(), in.value+1))
	}
	return out, err
}

// pair makes the table, and where the server can hold it the function that counts.
func pair(t *testing.T, dialect, config string) (p *twin.Pair, calls bool) {
	p = twin.New(t, twin.Options{
		Dialect: dialect,
		Schema:  []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, n BIGINT NOT NULL, version BIGINT NOT NULL, seen BIGINT NOT NULL)"},
		Config:  "version: 1\nauto_migrate: true\ntables: {t: {" + config + ", touch: [seen], versions: [version]}}\nrollup: {interval: 5ms}\n",
	})
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls = dialect != "sqlite" && config == configs["slots"]; calls {
		if _, err := slotsql.MigrateStored(t.Context(), twin.Connector(t, p), slotsql.Stored{Functions: true}); err != nil {
			t.Fatal(err)
		}
	}
	return p, calls
}

// each runs n histories like the given one, and gives what porcupine says of each to f, which returns false to stop.
func each(like *history, n int, f func(id int, says porcupine.CheckResult, ops []porcupine.Operation) bool) {
	for id := 1; id <= n; id++ {
		h := &history{Pair: like.Pair, t: like.t, id: id, calls: like.calls, fault: like.fault}
		initial, ops := h.run(rand.New(rand.NewPCG(*seed, uint64(id))))
		if says := porcupine.CheckOperationsTimeout(model(initial, h.Dialect), ops, 10*time.Second); !f(id, says, ops) {
			return
		}
	}
}

// TestLinearizable: statements of one row outside transactions are as if one after another.
func TestLinearizable(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		for name, config := range configs {
			t.Run(name, func(t *testing.T) {
				p, calls := pair(t, dialect, config)
				ran, undecided := 0, 0
				each(&history{Pair: p, t: t, calls: calls}, *number, func(id int, says porcupine.CheckResult, ops []porcupine.Operation) bool {
					ran++
					switch says {
					case porcupine.Unknown:
						undecided++
					case porcupine.Illegal:
						t.Errorf("history %d of seed %d is not linearizable:\n%s", id, *seed, describe(ops))
					}
					return !t.Failed()
				})
				t.Logf("%d histories, %d undecided", ran, undecided)
				if undecided > max(*number/100, 1) {
					t.Errorf("%d of %d histories are undecided", undecided, *number)
				}
			})
		}
	})
}

func describe(ops []porcupine.Operation) string {
	var b strings.Builder
	m := model(row{}, "")
	for _, o := range ops {
		fmt.Fprintf(&b, "%9d-%-9d client %d: %s\n", o.Call, o.Return, o.ClientId, m.DescribeOperation(o.Input, o.Output))
	}
	return b.String()
}

// TestFaults: porcupine finds mistakes made on purpose.
func TestFaults(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		for _, fault := range []fault{lost, untouched, twoWinners, drawnTwice, oversold, stale} {
			t.Run(string(fault), func(t *testing.T) {
				p, calls := pair(t, dialect, configs["groups"])
				found := 0
				each(&history{Pair: p, t: t, calls: calls, fault: fault}, 100, func(id int, says porcupine.CheckResult, _ []porcupine.Operation) bool {
					if says == porcupine.Illegal {
						found = id
					}
					return found == 0
				})
				if found == 0 {
					t.Error("not found in 100 histories")
				}
				t.Logf("found in history %d", found)
			})
		}
	})
}
