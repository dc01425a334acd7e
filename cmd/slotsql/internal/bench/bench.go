// Package bench measures ways to count in a database, side by side: a plain
// UPDATE, a SELECT FOR UPDATE, optimistic updates, slots written by hand, and
// the plain UPDATE through slotsql. It is what `slotsql bench` runs.
//
// Each run has tables of its own, whose names begin with slotsql_bench_ and a
// random part, and which are dropped when it ends; no other table is read or
// written. Clients are closed loops: each sends its next operation when the
// one before has been acknowledged. A run ends with a check: the total, as the
// application reads it and as the tables hold it, is the number of increments
// that were acknowledged. A run whose check fails has no numbers.
//
//	report, err := bench.Run(ctx, bench.Options{Engine: bench.EngineOf("sqlite"), Plan: bench.Presets["quick"]})
package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Options say what to measure and where.
type Options struct {
	Engine *Engine
	DSN    string // empty for an embedded database, where the engine has one
	Redis  string // address or redis:// URL; empty for none
	Plan   Plan

	// Command repeats the benchmark, for the report; without passwords.
	Command string
	// Progress is called before each run with what it is, how many were done and how
	// many there are; and once at the end. It may be nil.
	Progress func(done, total int, what string)
	// Redact takes passwords out of an error's text. It may be nil.
	Redact func(string) string
}

// prefix begins the name of every table and of every Redis key.
const prefix = "slotsql_bench_"

// Run measures all points of the plan. When the context is cancelled it drops
// its tables and returns what was finished, Interrupted set. An error may come
// with a report of what was finished before.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Plan.Validate(o.Engine); err != nil {
		return nil, err
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	embedded := o.DSN == ""
	if embedded {
		if o.Engine.embedded == nil {
			return nil, fmt.Errorf("%s needs a DSN", o.Engine.Name)
		}
		dir, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		o.DSN = o.Engine.embedded(dir)
	}
	b := &run{Options: o, name: prefix + randomName()}
	quieten()
	connector, err := o.Engine.open(o.DSN, nil)
	if err != nil {
		return nil, err
	}
	b.admin = pool(connector, 2)
	defer b.admin.Close()
	report := &Report{Schema: reportSchema, Started: time.Now(), Command: o.Command, Plan: o.Plan, Points: []Measurement{}}
	if err = b.prepare(ctx, report); err == nil {
		err = b.points(ctx, report)
	}
	if embedded {
		report.Environment.Address = "embedded, temporary"
	}
	report.Took = Duration(time.Since(report.Started).Round(time.Millisecond))
	report.Interrupted = ctx.Err() != nil
	if report.Interrupted && !errors.As(err, new(*leftoverError)) {
		err = nil // it says no more than that
	}
	return report, err
}

// prepare finds out what there is to measure, and where.
func (b *run) prepare(ctx context.Context, report *Report) (err error) {
	if err := b.admin.PingContext(ctx); err != nil {
		return err
	}
	if err := b.nothingThere(ctx); err != nil {
		return err
	}
	if report.Scenarios, err = b.scenarios(); err != nil {
		return err
	}
	report.Environment, err = b.environment(ctx)
	return err
}

func randomName() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// run is one Run.
type run struct {
	Options
	name  string  // what the names of its tables begin with
	admin *sql.DB // plain, without a delay
	runs  int     // so far; each has tables of its own
}

// nothingThere makes sure that no table has a name that this run may use, and
// that tables can be created and dropped.
func (b *run) nothingThere(ctx context.Context) error {
	var found string
	err := b.admin.QueryRowContext(ctx, b.Engine.q(b.Engine.like), b.name+"%").Scan(&found)
	switch {
	case err == nil:
		return fmt.Errorf("table %q already exists", found)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	probe := newTables(&workload{run: b, name: b.name})
	if err := probe.create(ctx, probe.pages, "id BIGINT"); err != nil {
		return err
	}
	if err := probe.Teardown(context.WithoutCancel(ctx)); err != nil {
		return &leftoverError{err}
	}
	return nil
}

// scenarios returns those to run: of the plan, or all, in the order of the list.
func (b *run) scenarios() ([]ScenarioInfo, error) {
	var list []ScenarioInfo
	for _, k := range kinds {
		k := b.Plan.form(k)
		if k == nil {
			continue
		}
		asked := slices.Contains(b.Plan.Scenarios, k.Name)
		if k.redis && b.Redis == "" {
			if asked {
				return nil, errors.New("scenario redis needs the address of a Redis server")
			}
			continue
		}
		if asked || len(b.Plan.Scenarios) == 0 || k.redis {
			list = append(list, k.ScenarioInfo)
		}
	}
	return list, nil
}

func (b *run) kind(s ScenarioInfo) *kind { return b.Plan.form(*kindOf(s.Name)) }

// points measures point after point. At each, the scenarios take turns, and
// who begins changes, so that what else the machine does falls on all alike.
func (b *run) points(ctx context.Context, report *Report) error {
	points, scenarios := b.Plan.Points(), report.Scenarios
	total, done := len(points)*len(scenarios)*b.Plan.Runs, 0
	for _, p := range points {
		results := make([]collected, len(scenarios))
		for i, s := range scenarios {
			results[i].info, results[i].loses = s, b.kind(s).loses
		}
		for r := range b.Plan.Runs {
			for i := range scenarios {
				c := &results[(i+r)%len(scenarios)]
				b.Progress(done, total, plural(p.Clients, "client")+", "+c.info.Name)
				done++
				if ctx.Err() != nil {
					continue
				}
				if c.skipped == "" {
					c.skipped = b.kind(c.info).inapplicable(b, p)
				}
				if c.skipped != "" || c.failed != "" {
					continue
				}
				sample, err := b.once(ctx, b.kind(c.info), p)
				switch {
				case errors.As(err, new(*leftoverError)):
					return err
				case ctx.Err() != nil:
				case err != nil:
					c.failed = b.Redact(err.Error())
				default:
					c.samples = append(c.samples, sample.numbered(r))
				}
			}
		}
		if m := measurement(p, results, b.Plan.baseline(), b.Redact); m.has() {
			report.Points = append(report.Points, m)
		}
		if ctx.Err() != nil {
			break
		}
	}
	b.Progress(done, total, "")
	return nil
}

// once sets a scenario up, drives it, checks its total and takes it down.
func (b *run) once(ctx context.Context, k *kind, p Point) (s *sample, err error) {
	b.runs++
	scenario := k.new(&workload{run: b, point: p, name: fmt.Sprintf("%s_%d", b.name, b.runs)})
	return measure(ctx, scenario, p, b.Plan)
}

// measure is once for a scenario that is given.
func measure(ctx context.Context, scenario Scenario, p Point, plan Plan) (s *sample, err error) {
	defer func() {
		// Also after an interrupt.
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if e := scenario.Teardown(down); e != nil {
			s, err = nil, &leftoverError{e}
		}
	}()
	if err := scenario.Setup(ctx); err != nil {
		return nil, err
	}
	if s, err = drive(ctx, scenario, p, plan); err != nil {
		return nil, err
	}
	total, err := scenario.Total(ctx)
	switch {
	case errors.As(err, &s.inexact):
	case err != nil:
		return nil, err
	case plan.Budget > 0:
		s.inexact = budgetIsExact(s, plan.units()-total, plan)
	default:
		s.inexact = exactness(s.acknowledged, total)
	}
	return s, nil
}

// leftoverError reports whether tables could not be dropped.
type leftoverError struct{ error }

func (e *leftoverError) Unwrap() error { return e.error }

// names joins the names of scenarios for a message.
func names(list []ScenarioInfo) string {
	s := make([]string, len(list))
	for i := range list {
		s[i] = list[i].Name
	}
	return strings.Join(s, ", ")
}
