package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// looker gathers what several looks see.
type looker struct {
	session    dialect.PlainSession
	dialect    dialect.Dialect
	observer   dialect.Observer
	options    Options
	configs    []config.TableConfig // of Options.Config
	report     *Report
	tables     map[[2]string]*table
	statements map[string]string // statements seen anywhere, by their shape
	waits      []*wait           // in the order in which they were seen
	executions map[string][]*wait
}

// table is what is known of a table that was waited for; facts is nil when it
// cannot be read.
type table struct {
	facts *schema.Table
	key   []string
	// unreadable: its rows may not be read.
	unreadable bool
}

func (l *looker) look(ctx context.Context) (err error) {
	start := time.Now()
	defer func() { l.report.Took = time.Since(start) }()
	if l.report.Lacks, err = l.observer.Rights(ctx, l.session); err != nil {
		return err
	}
	before, err := l.observer.Totals(ctx, l.session)
	if err != nil {
		return err
	}
	for last := start; ; {
		now := time.Now()
		err := l.once(ctx, now.Sub(last))
		if last = now; err != nil {
			if len(l.report.Lacks) == 0 || ctx.Err() != nil {
				return err
			}
			l.report.Notes = append(l.report.Notes, "the waiting sessions cannot be seen: "+err.Error())
			break
		}
		over := time.Since(start)
		if l.options.Progress != nil {
			l.options.Progress(min(over, l.options.For))
		}
		if over >= l.options.For {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(l.options.Every, l.options.For-over)):
		}
	}
	after, err := l.observer.Totals(ctx, l.session)
	if err != nil {
		return err
	}
	for i := range after {
		if i < len(before) && after[i].Value >= before[i].Value {
			l.report.Counts = append(l.report.Counts, Count{after[i].What, after[i].Value - before[i].Value})
		}
	}
	if err := l.deadlock(ctx); err != nil {
		return err
	}
	l.report.Spots = l.spots()
	l.attribute(ctx)
	return l.advise(ctx)
}

// deadlock reads the latest deadlock; who may not see waits may not see that.
func (l *looker) deadlock(ctx context.Context) error {
	r, ok := l.dialect.(dialect.DeadlockReader)
	if !ok {
		return nil
	}
	d, err := r.Deadlock(ctx, l.session)
	if err != nil && len(l.report.Lacks) > 0 {
		return nil
	}
	if err != nil || d == nil {
		return err
	}
	l.report.Deadlock = &Deadlock{At: d.At, Table: d.Table}
	for _, st := range d.Statements {
		l.report.Deadlock.Statements = append(l.report.Deadlock.Statements, l.shape(st))
	}
	return nil
}

// noteOnce notes something, one time.
func (l *looker) noteOnce(note string) {
	if !slices.Contains(l.report.Notes, note) {
		l.report.Notes = append(l.report.Notes, note)
	}
}

// table reads the facts of a table once.
func (l *looker) table(ctx context.Context, schema, name string) (*table, error) {
	if name == "" {
		return nil, nil
	}
	id := [2]string{schema, name}
	if t, ok := l.tables[id]; ok {
		return t, nil
	}
	facts, err := l.dialect.Table(ctx, l.session, schema, name)
	if err != nil {
		return nil, err
	}
	if facts != nil {
		facts.Unrestricted()
	}
	t := &table{facts: facts}
	if facts != nil && len(facts.Uniques) > 0 && facts.Uniques[0].Primary {
		t.key = facts.Uniques[0].Columns
	}
	l.tables[id] = t
	return t, nil
}

// target is the table that a statement writes.
func (l *looker) target(sql string) (schema, name string) {
	st, err := l.dialect.Parse(sql)
	if err != nil || st.Target == nil || len(st.Target.Name) == 0 {
		return "", ""
	}
	parts := st.Target.Name
	fold := func(n ast.Ident) string {
		if lower := strings.ToLower(n.Name); l.dialect.SameTable(n, lower) {
			return lower
		}
		return n.Name
	}
	if len(parts) > 1 {
		schema = fold(parts[len(parts)-2])
	}
	return schema, fold(parts[len(parts)-1])
}

func (l *looker) shape(sql string) string {
	if sql == "" {
		return ""
	}
	return digest.Text(l.dialect.LexRules(), sql)
}

// maxKept bounds how many statements are kept.
const maxKept = 500

func (l *looker) note(sql string) {
	if shape := l.shape(sql); shape != "" && len(l.statements) < maxKept {
		if _, has := l.statements[shape]; !has {
			l.statements[shape] = sql
		}
	}
}
