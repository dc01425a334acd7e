package shadow

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/internal/tally"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// errSnapshotOpen means that the transaction of a comparison could not be ended:
// the connection is of no more use.
var errSnapshotOpen = errors.New("slotsql: could not end the transaction of a comparison")

// do does one job on a connection that is not used for anything else meanwhile. An error is
// one of the connection, or of the database as it is now.
func (w *Shadower) do(ctx context.Context, raw driver.Conn, j job) error {
	w.running.Lock()
	defer w.running.Unlock()
	if err := w.dry.LearnServer(ctx, raw); err != nil {
		return err
	}
	dry := session.WrapConn(w.dry, raw)
	defer dry.Kept.Close()
	w.report(ctx, dry)
	p, err := w.plan(ctx, dry, j.stmt)
	if err != nil || !j.compare || p.tally == nil {
		return err
	}
	on := session.WrapConn(w.on, raw)
	defer on.Kept.Close()
	return (&comparison{w: w, on: on, dry: dry, job: j, plan: p}).run(ctx)
}

// plan finds out what would become of a statement.
func (w *Shadower) plan(ctx context.Context, dry *session.Conn, t *tracked) (*verdict, error) {
	changes := w.dry.Noticed.Changes.Load()
	if p := t.plan.Load(); p != nil && p.changes == changes {
		return p, nil
	}
	made, err := dry.Plan(ctx, t.sql)
	if err != nil {
		return nil, err
	}
	p := &verdict{changes: changes, read: made.Class == rewrite.Read}
	if slices.ContainsFunc(made.TouchedTables(), w.shadows) {
		tables := made.Tables
		if len(tables) == 0 {
			for _, t := range made.TouchedTables() {
				tables = append(tables, t.Name)
			}
		}
		p.tables = tables
		p.tally = tallies.Of(tally.Kind{
			Dialect: w.on.Dialect.Name(), Tables: tables, Class: string(made.Reported()), Reason: made.Reason, Scope: made.DrainScope(),
		})
	}
	if p.read {
		p.repeat = lex.Repeatable(w.on.Dialect.LexRules(), t.sql)
	}
	w.known(t, p)
	return p, nil
}

// shadows reports whether a table is in shadow.
func (w *Shadower) shadows(t *schema.Table) bool {
	for i := range w.dry.Tables {
		cfg := &w.dry.Tables[i]
		if cfg.Mode == config.ModeShadow && (cfg.Table == t.Name || w.on.Dialect.SameTable(ast.Ident{Name: cfg.Table}, t.Name)) &&
			(cfg.Schema == "" || cfg.Schema == t.Schema) {
			return true
		}
	}
	return false
}

// report logs, once, why tables in shadow could not be on.
func (w *Shadower) report(ctx context.Context, dry *session.Conn) {
	if w.reported {
		return
	}
	_, problems, err := dry.CheckTables(ctx)
	if err != nil {
		return
	}
	w.reported = true
	for _, p := range problems {
		w.on.Log().WarnContext(ctx, "slotsql: shadow: "+p.Message, "file", p.File, "line", p.Line)
	}
}

// comparison is of one read, as it is run and as it would be, on the same state
// of the database.
type comparison struct {
	w       *Shadower
	on, dry *session.Conn
	job     job
	plan    *verdict

	asIs, rewritten *session.Run
}

func (c *comparison) run(ctx context.Context) error {
	if why, err := c.prepare(ctx); err != nil {
		return err
	} else if why != "" {
		c.plan.tally.leave(why)
		return nil
	}
	var err error
	if !c.w.inline {
		err = c.on.Session().ExecAll(ctx, c.w.begin)
	}
	if err == nil {
		err = c.compare(ctx)
	}
	// It is ended whatever has become of it, also where the answer to its
	// beginning has been lost.
	ended := true
	if !c.w.inline {
		ended = c.w.endSnapshot(ctx, c.on)
	}
	switch {
	case err == nil && !ended:
		return errSnapshotOpen
	case err != nil && ended:
		c.w.failed(c.job, err)
		return nil
	}
	return err
}

// endSnapshot ends the transaction that reads are compared in.
func (w *Shadower) endSnapshot(ctx context.Context, c *session.Conn) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.on.Patience)
	defer cancel()
	return c.Session().ExecAll(ctx, w.end) == nil
}

// prepare makes both plans; why is the reason that they cannot be compared.
func (c *comparison) prepare(ctx context.Context) (why string, err error) {
	for _, side := range []struct {
		conn *session.Conn
		run  **session.Run
	}{{c.on, &c.asIs}, {c.dry, &c.rewritten}} {
		p, err := side.conn.Plan(ctx, c.job.stmt.sql)
		if err != nil {
			return "", err
		}
		r := side.conn.UncountedRun(p, c.job.args)
		if err := r.CheckStars(ctx); err != nil {
			return "", err
		}
		if r.Plan.Class != rewrite.Read && (r.Plan.Class != rewrite.PassThrough || side.conn == c.dry) {
			return "it is no longer a read", nil
		}
		*side.run = r
	}
	for _, t := range c.rewritten.Plan.Touched {
		if !c.w.shadows(t) || c.w.slotted[t] {
			continue
		}
		slots, err := c.dry.Look(ctx)(t.Counter.SlotTable.Schema, t.Counter.SlotTable.Name)
		if err != nil {
			return "", err
		}
		if slots == nil {
			return "slot table " + t.Counter.SlotTable.Name + " does not exist: run `slotsql migrate`", nil
		}
		if len(c.w.slotted) > maxShadowJobs {
			clear(c.w.slotted) // facts of old
		}
		c.w.slotted[t] = true
	}
	return "", nil
}

func (c *comparison) compare(ctx context.Context) error {
	asIs, err := answerOf(ctx, c.asIs)
	if err == nil && asIs != nil {
		var rewritten *answer
		if rewritten, err = answerOf(ctx, c.rewritten); err == nil && rewritten != nil {
			return c.judge(ctx, asIs, rewritten)
		}
	}
	switch {
	case err != nil && c.on.Engine.SchemaChanged(err):
		clear(c.w.slotted)
		c.w.dry.Expire()
		return err
	case err != nil:
		return err
	}
	c.plan.tally.leave(fmt.Sprintf("it has more than %d rows, or %d MiB", maxShadowRows, maxShadowBytes>>20))
	return nil
}

func (c *comparison) judge(ctx context.Context, asIs, rewritten *answer) error {
	t := c.plan.tally
	v, what := asIs.differs(rewritten, c.plan.repeat, c.counters())
	if v != same {
		// A query that gives different results twice cannot be compared.
		again, err := answerOf(ctx, c.asIs)
		if err != nil {
			return err
		}
		if again == nil {
			t.leave("the query returns different results each time")
			return nil
		}
		if v, _ := asIs.differs(again, lex.Repeat{Ordered: true}, nil); v != same {
			t.leave("the query returns different results each time")
			return nil
		}
	}
	switch v {
	case same:
	case undecided:
		t.undecided.Add(1)
	case different:
		behind, err := c.behind(ctx)
		if err != nil {
			return err
		}
		t.differences.Add(1)
		if behind != "" {
			t.behind.Add(1)
		}
		c.log(ctx, what, behind)
	}
	t.compared.Add(1)
	return nil
}

// behind names a slot table that holds something for a table in shadow.
func (c *comparison) behind(ctx context.Context) (string, error) {
	d := c.w.on.Dialect
	for _, t := range c.rewritten.Plan.Touched {
		if !c.w.shadows(t) {
			continue
		}
		var conds []string
		for _, column := range t.Counter.Counters {
			conds = append(conds, d.Quote(column)+" <> 0")
		}
		rows, err := c.on.Session().Query(
			ctx,
			"SELECT 1 FROM "+rewrite.SlotSource(d, t, t.Counter.Counters...)+" AS slotsql_s WHERE "+strings.Join(conds, " OR ")+" LIMIT 1",
		)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			return t.Counter.SlotTable.Name, nil
		}
	}
	return "", nil
}

// counters are the names of the counters of the tables that the statement mentions.
func (c *comparison) counters() (out []string) {
	for _, t := range c.rewritten.Plan.Touched {
		out = append(out, t.Counter.Counters...)
	}
	return out
}

// log reports a difference: the first one of a statement, the second, the fourth and
// so on.
func (c *comparison) log(ctx context.Context, what, behind string) {
	if n := c.plan.logged.Add(1); n&(n-1) != 0 {
		return
	}
	reason := "the slots are empty: this would be a bug in slotsql"
	if behind != "" {
		reason = "slots of " + behind + " are not empty: another process counts in them"
	}
	sql := c.job.stmt.sql
	if len(sql) > maxShadowLog {
		sql = strings.ToValidUTF8(sql[:maxShadowLog], "") + "..."
	}
	c.w.on.Log().WarnContext(ctx, "slotsql: shadow: a rewritten read returned a different result", "tables", c.plan.tables,
		"difference", what, "reason", reason, "statement", sql)
}

const maxShadowLog = 2000 // bytes of a statement
