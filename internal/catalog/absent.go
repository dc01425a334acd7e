package catalog

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// An application may create its tables itself, after it has connected. A configured table that
// does not exist is no counter table yet: statements that name it run as they are, and the log
// says so. It becomes a counter table as any other change is noticed: at once in the process whose
// DDL creates it (concern.go), in others by the watch, which also keeps marks for names that mean
// nothing. Its slot table is created then, if auto_migrate says so.
//
// In between, another process may already count in slots, which a statement that runs as it is
// would not add up. So a statement that names a table whose slots are still to come has the
// catalog looked at first (RefreshFor), and is planned again if that finds anything. If it finds
// nothing, there was no slot table at that moment, which is within the statement's own call.
// Whatever is counted in slots from then on is counted by statements that overlap with this one,
// which may come after it. Only such statements pay for the look, and nearly all of them fail, or
// are the DDL that creates the table.

// awaited are the configured tables that do not exist, or that are to have slots and have none
// yet: a part of each name.
type awaited []string

// await notes that statements on a table run as they are until it, or its slot table, has been
// created.
func (sc *Schema) await(cfg *config.TableConfig) {
	sc.awaited = append(sc.awaited, strings.ToLower(lex.Spelled(cfg.Table)))
}

// names reports whether a statement may name one of the tables.
func (a awaited) names(lx *lex.Rules, query string) bool {
	for _, name := range a {
		if !lex.ContainsFold(query, name) {
			continue
		}
		for _, t := range lex.Tokens(lx, query) {
			word := query[t.Start:t.End]
			if t.Kind == lex.Word && strings.EqualFold(word, name) || t.Kind != lex.Word && lex.ContainsFold(word, name) {
				return true
			}
		}
	}
	return len(a) > 0 && lex.EscapedNames(lx, query)
}

// awaits reports whether a statement may name a table that is still to come.
func (sc *Schema) awaits(query string) bool {
	return len(sc.awaited) > 0 && sc.awaited.names(sc.Planner.Dialect.LexRules(), query)
}

// RefreshFor is Refresh for a statement. If the statement names tables that are still to come, it
// looks whether they have been created; if no look is possible, the statement runs on the facts
// that there are.
func (v *View) RefreshFor(ctx context.Context, query string) error {
	if err := v.Refresh(ctx); err != nil || !v.Schema.awaits(query) {
		return err
	}
	began := clock()
	for tries := 0; tries < 3 && v.Catalog.Watch.looked.Load() < int64(began) && !v.Schema.Stale(); tries++ {
		if err := v.look(ctx); err != nil {
			return err
		}
	}
	return v.Refresh(ctx)
}

// look has the tables looked at, and waits for the result.
func (v *View) look(ctx context.Context) error {
	c := v.Catalog
	switch {
	case c.Traits.OneWriter && !v.Tx.None() && !v.Facts.HasTemporary():
		// The schema is part of the transaction's snapshot. If the transaction has none yet, this
		// must not take it.
		return v.Aside(ctx, func(on *View) error { return c.compare(ctx, on, func() { c.Expire() }) })
	case c.Traits.OneWriter || !c.mayLookAside():
		v.lookHere(ctx)
		return ctx.Err()
	}
	late := time.NewTimer(sidePatience)
	defer late.Stop()
	c.Watch.lookItself() // what others have found is older than the statement
	done := c.lookAside()
	select {
	case <-done:
	case <-late.C:
		c.Watch.leave(done)
		v.lookHere(ctx)
	case <-ctx.Done():
	}
	return ctx.Err()
}

// createSlots creates the slot table of a table in a running program. Its foreign key needs a lock
// on the base table, and other sessions queue behind a statement that waits for one: so the lock is
// asked for briefly, and again soon.
func (l *schemaLoader) createSlots(ctx context.Context, c CheckedTable) error {
	sc, v := l.sc, l.view
	err := l.migrate(ctx, v.MigrateBriefly, sc.Catalog.Dialect.CreateSlots(c.Table))
	if err != nil && v.Engine.Retryable(err) && !v.Rare.Any(link.Broken) && ctx.Err() == nil {
		sc.await(c.Config)
		sc.fresh.review = time.Now().Add(lookAgain)
		return nil
	}
	return err
}

// findMissing returns the configured tables that do not exist, rather than being hidden from the
// user.
func (sc *Schema) findMissing(
	ctx context.Context,
	v *View,
	how loading,
	unseen map[dialect.WrittenName]unseenBase,
) (missing []*config.TableConfig, err error) {
	for i := range sc.Catalog.Tables {
		cfg := &sc.Catalog.Tables[i]
		t, err := v.Look(ctx)(cfg.Schema, cfg.Table)
		if err != nil {
			return nil, err
		}
		if _, hidden := unseen[dialect.WrittenName{Schema: cfg.Schema, Name: cfg.Table}]; t != nil || hidden {
			continue
		}
		missing = append(missing, cfg)
		if how.home && cfg.Slots > 0 {
			sc.await(cfg)
		}
	}
	return missing, nil
}

// missingProblems returns the problems of tables that do not exist.
func (c *Catalog) missingProblems(missing []*config.TableConfig) (problems []config.Problem) {
	for _, cfg := range missing {
		if config.Demanded(cfg) {
			more, _ := checkTableAs(cfg, nil, c.Dialect.NameRules(), starting)
			problems = append(problems, more...)
		}
	}
	return problems
}

// complete reports whether a table has a column for each of its configured counters.
func complete(c CheckedTable) bool { return len(c.Table.Counter.Counters) == len(c.Config.Counters) }

// remarkSlotless notes that a table is to have slots and has no slot table yet.
func (sc *Schema) remarkSlotless(t CheckedTable) {
	if sc.Catalog.Config.AutoMigrate() && !complete(t) {
		sc.remark(t.Table, "slotsql: a table lacks columns of configured counters", "its slot table is created once it has all of them")
		return
	}
	sc.remark(t.Table, unfitting, AsConfigError(t.Config.Locate(CheckSlotTable(t.Table, nil))).Error())
}

// absences remember which tables do not exist, and since when.
type absences struct {
	mu      sync.Mutex
	after   time.Duration // between the first report and the second
	missing map[*config.TableConfig]*absence
}

type absence struct {
	next  time.Time // when it is reported again
	pause time.Duration
}

const reportAgain = time.Minute

// note reports tables that do not exist: at once, after a minute, and then after twice as long
// each time, so that a mistyped name does not go unnoticed. All others exist.
func (a *absences) note(ctx context.Context, c *Catalog, missing []*config.TableConfig) {
	a.mu.Lock()
	before := a.missing
	a.missing = map[*config.TableConfig]*absence{}
	for _, cfg := range missing {
		if a.missing[cfg] = before[cfg]; a.missing[cfg] == nil {
			a.missing[cfg] = &absence{pause: a.after}
		}
		delete(before, cfg)
	}
	a.mu.Unlock()
	for cfg := range before {
		c.Log().InfoContext(ctx, "slotsql: a configured table has been created", "table", cfg.Table)
	}
	a.remind(ctx, c)
}

// remind reports tables that are due to be reported again.
func (a *absences) remind(ctx context.Context, c *Catalog) {
	a.mu.Lock()
	var due []*config.TableConfig
	for cfg, m := range a.missing {
		if now := time.Now(); !now.Before(m.next) {
			m.next, m.pause = now.Add(m.pause), 2*m.pause
			due = append(due, cfg)
		}
	}
	a.mu.Unlock()
	for _, cfg := range due {
		c.Log().WarnContext(ctx, "slotsql: a configured table does not exist in the database: "+
			"statements that name it run as they are until it is created; if it is not to be, correct the name", "table", cfg.Table)
	}
}
