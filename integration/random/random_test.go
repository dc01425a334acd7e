package random_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/random"
	"github.com/slotsql/slotsql/integration/twin"
)

var (
	randomSeed   = flag.Uint64("random.seed", 1, "first seed of the made-up applications")
	randomN      = flag.Int("random.n", 1000, "statements per engine")
	randomSteps  = flag.Int("random.steps", 250, "statements of one application")
	randomMost   = flag.Int("random.differences", 3, "how many applications may differ, per engine, before giving up")
	randomShrink = flag.Duration("random.shrink", 20*time.Second, "time to look for the fewest statements that show a difference")
)

func init() {
	flag.StringVar(
		&random.Layout,
		"random.layout",
		"",
		"layout of every table that can have it, in TestRandom and TestRandomReads; by default they are mixed",
	)
}

// TestRandom makes up applications and runs them plain and wrapped side by
// side. A difference is reported with the fewest statements found that show
// it, and the command that runs it again.
func TestRandom(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		differ := 0
		for seed, done := *randomSeed, 0; done < *randomN && differ < *randomMost; seed++ {
			app := random.New(dialect, seed, *randomSteps)
			done += len(app.Steps)
			if !play(t, app, seed) {
				differ++
			}
		}
	})
}

// play reports whether the two sides are the same.
func play(t *testing.T, app *random.Application, seed uint64) bool {
	failures := map[string]int{}
	at, ds := runSteps(t, app, app.Steps, failures)
	refused := 0
	for class, n := range failures {
		if class != "none" {
			refused += n
		}
	}
	t.Logf("seed %d: %d steps, %d errors on the plain side: %v", seed, len(app.Steps), refused, failures)
	if len(ds) == 0 {
		return true
	}
	steps := shrink(t, app, app.Steps[:at+1], sortOf(ds))
	first := ds
	if _, ds = runSteps(t, app, steps, nil); len(ds) == 0 {
		t.Error("this has shown once, and not again when its steps were repeated:")
		ds = first
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d\n\n", app.Dialect, seed)
	used := func(query string) bool { // of a table that no step names nothing need be shown
		name := strings.Trim(strings.Fields(strings.TrimPrefix(strings.TrimPrefix(query, "CREATE TABLE "), "INSERT INTO "))[0], "\"`:")
		return slices.ContainsFunc(steps, func(s random.Step) bool {
			return s.Kind == random.Tables || strings.Contains(strings.ToLower(s.SQL), strings.ToLower(name))
		})
	}
	for _, s := range app.Schema {
		if used(s) {
			b.WriteString(s + ";\n")
		}
	}
	b.WriteString("\n" + app.Config + "\n")
	if app.Params != "" {
		b.WriteString("DSN: " + app.Params + "\n\n")
	}
	for _, s := range steps {
		b.WriteString(s.String() + "\n")
	}
	for _, d := range ds {
		b.WriteString("\n" + d.String())
	}
	fmt.Fprintf(&b, "\n\nagain: go test ./integration/random -run 'TestRandom$/%s' -random.seed %d -random.n 1 -random.steps %d\n",
		app.Dialect, seed, *randomSteps)
	t.Error(b.String())
	return false
}

// stepLimit is how long a step may take on both sides.
const stepLimit = 2 * time.Minute

// runNumber makes names of tests.
var runNumber atomic.Int64

// runSteps runs the steps on new databases until a difference shows, and
// returns where.
func runSteps(t *testing.T, app *random.Application, steps []random.Step, classes map[string]int) (at int, ds []twin.Difference) {
	t.Helper()
	done := t.Run(fmt.Sprintf("run-%d", runNumber.Add(1)), func(t *testing.T) { // a # in the name would end SQLite's URI
		p := twin.New(t, twin.Options{Dialect: app.Dialect, Schema: app.Schema, Config: app.Config, Params: app.Params})
		// A statement that blocks is a difference too.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		blocks := time.AfterFunc(stepLimit, cancel)
		defer blocks.Stop()
		r := &player{pair: p, params: app.Params, classes: classes}
		defer r.close()
		foreign(t, p)
		r.restrict(ctx, t, app)
		for i := range random.Sessions {
			r.plain[i].open(ctx, t, p.Plain)
			r.wrapped[i].open(ctx, t, p.Wrapped)
		}
		for at = range steps {
			blocks.Reset(stepLimit)
			if ds = r.step(ctx, t, steps[at]); len(ds) > 0 {
				return
			}
		}
	})
	if !done && len(ds) == 0 {
		t.FailNow()
	}
	return at, ds
}

// foreign puts rows of other programs into the shared slot tables that the wrapped
// side has made.
func foreign(t *testing.T, p *twin.Pair) {
	t.Helper()
	if err := p.Wrapped.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, query := range random.Foreign {
		if _, err := p.Under.ExecContext(t.Context(), query); err != nil && !strings.Contains(err.Error(), "slotted_") {
			t.Fatal(err)
		}
	}
}

// control finds statements that change no rows.
var control = regexp.MustCompile(`(?i)^(/\*.*\*/ *)?(begin|start|commit|rollback|savepoint|release|alter|create|drop)\b`)

// defines finds DDL.
var defines = regexp.MustCompile(`(?i)^(alter|create|drop|truncate)\b`)

// replaces finds REPLACE.
var replaces = regexp.MustCompile(`(?i)^(/\*.*\*/ *)?replace\b`)

// player runs steps on both sides.
type player struct {
	pair           *twin.Pair
	params         string
	reads          bool                               // increments only make slots for queries
	plain, wrapped [random.Sessions + 1]playerSession // the last is that of the role with fewer rights
	role           *sql.DB                            // the role's wrapped side, a process of its own
	changed        bool                               // definitions, since that process has noticed
	planning       *sql.Conn                          // for share
	classes        map[string]int
}

type playerSession struct {
	conn *sql.Conn
	tx   *sql.Tx
}

func (s *playerSession) open(ctx context.Context, t *testing.T, db *sql.DB) {
	t.Helper()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.conn = conn
}

func (s *playerSession) session() twin.Session {
	if s.tx != nil {
		return s.tx
	}
	return s.conn
}

func (r *player) close() {
	if r.planning != nil {
		_ = r.planning.Close()
	}
	for i := range r.plain {
		for _, s := range []*playerSession{&r.plain[i], &r.wrapped[i]} {
			if s.tx != nil {
				_ = s.tx.Rollback()
			}
			if s.conn != nil {
				_ = s.conn.Close()
			}
		}
	}
}

func (r *player) step(ctx context.Context, t *testing.T, s random.Step) []twin.Difference {
	t.Helper()
	if s.Kind == random.Tables {
		ds, err := r.pair.FinalTables(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return ds
	}
	if s.Kind == random.Change {
		r.change(ctx, t, s.SQL)
		return nil
	}
	if s.Session == random.Restricted && !r.roleNotices(ctx, t) {
		return nil
	}
	if !r.reads {
		r.share(ctx, t, s)
	}
	if r.pair.Dialect == "sqlite" && defines.MatchString(s.SQL) {
		look(t, r.plain[s.Session].session(), r.wrapped[s.Session].session())
	}
	plain, wrapped := r.plain[s.Session].do(ctx, in(r.pair.PlainDSN, s)), r.wrapped[s.Session].do(ctx, in(r.pair.WrappedDSN, s))
	r.changed = r.changed || defines.MatchString(s.SQL)
	unname(r.pair, &plain, &wrapped)
	plain.Ordered, wrapped.Ordered = s.Ordered, s.Ordered
	if control.MatchString(s.SQL) {
		// SQLite reports what the last INSERT, UPDATE or DELETE before it did.
		plain.RowsAffected, wrapped.RowsAffected = twin.Number{}, twin.Number{}
	}
	if r.classes != nil && s.Kind == random.Statement {
		r.classes[twin.Class(plain.Err)]++
	}
	if r.pair.Dialect == "mysql" && replaces.MatchString(s.SQL) && plain.RowsAffected.Value < wrapped.RowsAffected.Value {
		// A row that a foreign key refers to is deleted and inserted even if nothing changes.
		plain.RowsAffected = wrapped.RowsAffected
	}
	if tolerated(r.pair.Dialect, r.params, &plain, &wrapped) {
		return nil
	}
	if ds := twin.Compare(plain, wrapped); !r.misordered(ctx, t, s, ds) {
		return ds
	}
	return nil
}

// databaseOf finds the name of the database in a DSN of MySQL's.
var databaseOf = regexp.MustCompile(`^[^?]*/([^/?]+)`)

// in puts the name of the side's database into the statement.
func in(dsn string, s random.Step) random.Step {
	if strings.Contains(s.SQL, random.ThisDatabase) {
		s.SQL = strings.ReplaceAll(s.SQL, random.ThisDatabase, databaseOf.FindStringSubmatch(dsn)[1])
	}
	return s
}

// unname takes the name of the database out of names of columns again:
// MySQL's are the text of the expression.
func unname(p *twin.Pair, sides ...*twin.Outcome) {
	if p.Dialect != "mysql" {
		return
	}
	for i, dsn := range []string{p.PlainDSN, p.WrappedDSN} {
		name := databaseOf.FindStringSubmatch(dsn)[1]
		for _, set := range sides[i].Sets {
			for j := range set.Columns {
				c := strings.ReplaceAll(set.Columns[j].Name, name, random.ThisDatabase)
				if n := strings.LastIndex(c, "slotsql_"); n >= 0 && strings.HasPrefix(name, c[n:]) {
					c = c[:n] // cut off in the middle
				}
				set.Columns[j].Name = c
			}
		}
	}
}

func (s *playerSession) do(ctx context.Context, step random.Step) twin.Outcome {
	var o twin.Outcome
	switch step.Kind {
	case random.Begin:
		if s.tx != nil {
			return o // the step that ended it was taken out
		}
		if s.tx, o.Err = s.conn.BeginTx(ctx, nil); o.Err != nil {
			s.tx = nil
		}
		return o
	case random.Commit, random.Rollback:
		if s.tx == nil {
			return o
		}
		if step.Kind == random.Commit {
			o.Err = s.tx.Commit()
		} else {
			o.Err = s.tx.Rollback()
		}
		s.tx = nil
		return o
	}
	return twin.Run(ctx, s.session(), twin.Statement{SQL: step.SQL, Args: step.Args, Prepared: step.Prepared})
}
