package random_test

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/random"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	readsSeed   = flag.Uint64("reads.seed", 1, "first seed of the made-up queries")
	readsN      = flag.Int("reads.n", 5000, "queries per engine")
	readsMost   = flag.Int("reads.differences", 3, "how many differences to report per engine before giving up")
	readsShrink = flag.Duration("reads.shrink", 10*time.Second, "time to look for the shortest query that shows a difference")
)

// readsPerSchema is how many queries run on one schema.
const readsPerSchema = 1000

// TestRandomReads makes up schemas, brings counters into many slots, and runs
// made-up queries plain and wrapped side by side: rows, their order where the
// text gives one, names and types of columns, and classes of errors must be
// the same. It logs what became of the queries, so that a plan which has
// become slower is seen.
//
// By default it takes a minute or two, and runs the same queries however fast the machine is. A
// hundred thousand queries per engine take half an hour:
//
//	go test ./integration/random -run TestRandomReads -reads.n 100000 -timeout 4h
//
// A difference is reported with the statement, both results, the shortest text
// found that still shows it, and the command that runs it again.
func TestRandomReads(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		sum := &readsTally{plans: map[string]int{}, errors: map[string]int{}, samples: map[string]string{}}
		start := time.Now()
		more := func() bool { return sum.queries < *readsN }
		// A pattern of -run may leave out seeds, and a session that is lost the rest of one.
		last := *readsSeed + 3*uint64(*readsN/readsPerSchema) + 10
		for seed := *readsSeed; more() && sum.differences < *readsMost && seed < last; seed++ {
			before := sum.differences
			if !t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) { runReads(t, dialect, seed, more, sum) }) &&
				sum.differences == before {
				return // the server has gone, or worse
			}
		}
		t.Logf("%.0f queries a second\n%s", float64(sum.queries)/time.Since(start).Seconds(), sum)
	})
}

// named finds the names in reasons of plans.
var named = regexp.MustCompile(`\b(stands? for|called|counter|counter table|column|alias|near) ("(?s:.*)|\w+)`)

// readsTally counts what became of queries.
type readsTally struct {
	queries, failed, differences int
	plans                        map[string]int
	errors                       map[string]int
	samples                      map[string]string // a statement of each class of error
	slowest                      []slowQuery
}

type slowQuery struct {
	took time.Duration
	sql  string
}

func (s *readsTally) slow(took time.Duration, q random.Step) {
	s.slowest = append(s.slowest, slowQuery{took, q.SQL})
	if len(s.slowest) > 1000 {
		s.keepSlowest()
	}
}

func (s *readsTally) keepSlowest() {
	slices.SortFunc(s.slowest, func(a, b slowQuery) int { return cmp.Compare(b.took, a.took) })
	s.slowest = s.slowest[:min(len(s.slowest), 10)]
}

func (s *readsTally) String() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%d queries, %d of which the plain driver refuses (%.1f %%)\n",
		s.queries,
		s.failed,
		100*float64(s.failed)/float64(max(s.queries, 1)),
	)
	for _, m := range []map[string]int{s.plans, s.errors} {
		for _, k := range slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[b] - m[a] }) {
			fmt.Fprintf(&b, "%7d  %5.2f %%  %s\n", m[k], 100*float64(m[k])/float64(max(s.queries, 1)), k)
			if testing.Verbose() && s.samples[k] != "" {
				fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", 20), s.samples[k])
			}
		}
	}
	s.keepSlowest()
	for _, q := range s.slowest {
		if testing.Verbose() {
			fmt.Fprintf(&b, "%v: %s\n", q.took.Round(time.Millisecond), q.sql)
		}
	}
	return b.String()
}

// readsRun is a pair of databases with the sessions that queries use.
type readsRun struct {
	*player
	dialect string
	made    *random.Reads
	before  random.Step
	stale   int // drains and queries since the last increments
}

func runReads(t *testing.T, dialect string, seed uint64, more func() bool, sum *readsTally) {
	made := random.NewReads(dialect, seed)
	pair := twin.New(t, twin.Options{Dialect: dialect, Schema: made.Schema, Config: made.Config, Params: made.Params})
	r := &readsRun{player: &player{pair: pair, params: made.Params, reads: true}, dialect: dialect, made: made}
	defer r.close()
	foreign(t, pair)
	for i := range random.Sessions {
		r.plain[i].open(t.Context(), t, pair.Plain)
		r.wrapped[i].open(t.Context(), t, pair.Wrapped)
	}
	r.increment(t, 80)
	for i := 0; i < readsPerSchema && more(); i++ {
		s := made.Query()
		sum.queries++
		ds, first := r.query(t, s, sum)
		if first[0].Err != nil {
			sum.failed++
		}
		if lost(first[0].Err) {
			// The plain side's connection is gone with it, and what its session held.
			t.Logf("query %d takes the plain driver too long, the rest of seed %d is left out: %s", i, seed, s.SQL)
			return
		}
		if len(ds) == 0 {
			continue
		}
		sum.differences++
		short := r.shrink(t, s)
		var b strings.Builder
		fmt.Fprintf(
			&b,
			"%s, seed %d, query %d\n\n%s\n\n%s\n\nDSN: %s\n\n%s\n",
			dialect,
			seed,
			i,
			schemaOf(made, s),
			made.Config,
			made.Params,
			s,
		)
		for _, d := range ds {
			b.WriteString("\n" + d.String())
		}
		fmt.Fprintf(&b, "\n\nplain:\n%s\nwrapped:\n%s", outcomeText(first[0]), outcomeText(first[1]))
		b.WriteString("\n\nshortest: " + short.String() + "\n")
		plain, wrapped := r.both(t, short, true)
		_ = tolerated(dialect, r.params, &plain, &wrapped)
		for _, d := range twin.Compare(plain, wrapped) {
			b.WriteString("\n" + d.String())
		}
		if e, err := slotsql.Explain(t.Context(), pair.Wrapped, in(pair.WrappedDSN, short).SQL); err == nil {
			explained, _ := json.MarshalIndent(e, "", "  ")
			b.WriteString("\n\n" + string(explained))
		}
		fmt.Fprintf(
			&b,
			"\n\nagain: go test ./integration/random -run 'TestRandomReads/%s' -reads.seed %d -reads.n %d\n",
			dialect,
			seed,
			readsPerSchema,
		)
		t.Error(b.String())
		if sum.differences >= *readsMost {
			return
		}
	}
}

// outcomeText writes the rows of a result, the first ones.
func outcomeText(o twin.Outcome) string {
	if o.Err != nil {
		return "  " + o.Err.Error() + "\n"
	}
	var b strings.Builder
	for _, set := range o.Sets {
		names := make([]string, len(set.Columns))
		for i, c := range set.Columns {
			names[i] = strings.TrimSpace(c.Name + " " + c.DatabaseType)
		}
		fmt.Fprintf(&b, "  %s: %d rows\n", strings.Join(names, ", "), len(set.Rows))
		for _, row := range set.Rows[:min(len(set.Rows), 40)] {
			b.WriteString(" ")
			for _, v := range row {
				if text, ok := v.([]byte); ok {
					v = string(text)
				}
				fmt.Fprintf(&b, " %#v", v)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// schemaOf is what creates and fills the tables that the query may name.
func schemaOf(made *random.Reads, q random.Step) string {
	var b strings.Builder
	for _, s := range made.Schema {
		name := strings.FieldsFunc(strings.TrimPrefix(strings.TrimPrefix(s, "CREATE TABLE "), "INSERT INTO "), func(r rune) bool { return strings.ContainsRune(" \"`", r) })[0]
		if strings.HasPrefix(s, "CREATE VIEW") || strings.Contains(strings.ToLower(q.SQL), strings.ToLower(name)) {
			b.WriteString(s + ";\n")
		}
	}
	return b.String()
}

// increment runs increments on both sides, each on several sessions, so that
// totals agree and base values do not.
func (r *readsRun) increment(t *testing.T, n int) {
	t.Helper()
	r.stale = 0
	for _, s := range r.made.Increments(n) {
		if ds := r.step(t.Context(), t, s); len(ds) > 0 {
			t.Fatalf("increment %s: %v", s, ds)
		}
	}
}

// query runs a query on both sides. A drain folds the slots that the queries
// are to meet, so it is mostly rolled back; and when it is not, increments
// follow.
func (r *readsRun) query(t *testing.T, s random.Step, sum *readsTally) ([]twin.Difference, [2]twin.Outcome) {
	t.Helper()
	e, err := slotsql.Explain(t.Context(), r.pair.Wrapped, in(r.pair.WrappedDSN, s).SQL)
	if err != nil {
		t.Fatalf("explain: %v\n%s\nbefore it: %s", err, s, r.before)
	}
	r.before = s
	drains := e.Class == "drain"
	r.stale++
	rollback := drains && r.stale%16 != 0
	start := time.Now()
	plain, wrapped := r.both(t, s, rollback)
	sum.slow(time.Since(start), s)
	if s.Prepared && len(s.Args) == 0 && ungrouped[twin.Class(plain.Err)] && wrapped.Err == nil {
		// Prepared, MariaDB takes fewer expressions for those that GROUP BY names.
		s.Prepared = false
		plain, wrapped = r.both(t, s, rollback)
	}
	class := twin.Class(plain.Err)
	if class != "none" {
		sum.errors["refused: "+class]++
		sum.samples["refused: "+class] = s.SQL + "\n" + plain.Err.Error()
	} else {
		plan := e.Class + ": " + named.ReplaceAllString(e.Reason, "$1 ...")
		sum.plans[plan]++
		if sum.samples[plan] == "" || len(sum.samples[plan]) > len(s.SQL) {
			sum.samples[plan] = s.SQL
		}
	}
	ds := []twin.Difference(nil)
	if !tolerated(r.dialect, r.params, &plain, &wrapped) {
		if ds = twin.Compare(plain, wrapped); r.misordered(t.Context(), t, s, ds) {
			ds = nil
		}
	}
	if lost(plain.Err) {
		return nil, [2]twin.Outcome{plain, wrapped}
	}
	if drains && !rollback || r.stale > 250 {
		r.increment(t, 40)
	}
	return ds, [2]twin.Outcome{plain, wrapped}
}

// lost reports whether the plain driver has given up a query, and its connection with
// it: MariaDB does not end some within the minute that each has.
func lost(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn)
}

// both runs a query on both sides, at the same time.
func (r *readsRun) both(t *testing.T, s random.Step, rollback bool) (plain, wrapped twin.Outcome) {
	t.Helper()
	// One that blocks is a difference too. The wrapped one has far more time than the plain one, and is
	// given up with it: where both are only slow, the plain one is given up first.
	slow, giveUp := context.WithTimeout(t.Context(), 10*time.Minute)
	defer giveUp()
	limited, cancel := context.WithTimeout(slow, time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	one := func(ctx context.Context, o *twin.Outcome, p *playerSession, s random.Step) {
		if rollback {
			if tx := p.do(ctx, random.Step{Kind: random.Begin}); tx.Err != nil {
				*o = tx
				return
			}
			defer p.do(ctx, random.Step{Kind: random.Rollback})
		}
		*o = p.do(ctx, s)
		o.Ordered = s.Ordered
	}
	wait.Go(func() {
		if one(limited, &plain, &r.plain[s.Session], in(r.pair.PlainDSN, s)); lost(plain.Err) {
			giveUp()
		}
	})
	one(slow, &wrapped, &r.wrapped[s.Session], in(r.pair.WrappedDSN, s))
	wait.Wait()
	unname(r.pair, &plain, &wrapped)
	return plain, wrapped
}
