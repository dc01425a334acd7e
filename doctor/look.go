package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// looker gathers what several looks see.
type looker struct {
	session    dialect.Session
	dialect    dialect.Dialect
	observer   dialect.Observer
	options    Options
	report     *Report
	tables     map[[2]string]*table
	statements map[string]string // statements seen anywhere, by their shape
}

// table is what is known of a table that was waited for; facts is nil when it
// cannot be read.
type table struct {
	facts *schema.Table
	key   []string
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
	for {
		if err := l.once(ctx); err != nil {
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
	slices.SortStableFunc(l.report.Spots, func(a, b *Spot) int { return cmp.Compare(b.Waits, a.Waits) })
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

// once takes one look.
func (l *looker) once(ctx context.Context) error {
	waits, err := l.observer.Waits(ctx, l.session)
	if err != nil {
		return err
	}
	statements, err := l.observer.Statements(ctx, l.session)
	if err != nil {
		return err
	}
	for _, t := range statements {
		l.note(t)
	}
	l.report.Looks++
	most := map[*Spot]int{}
	seen := map[[2]string]bool{} // a session may wait for several others
	for i := range waits {
		w := &waits[i]
		l.note(w.Statement)
		l.note(w.Holding)
		spot, err := l.spot(ctx, w)
		if err != nil {
			return err
		}
		spot.holder(l.shape(w.Holding), w.Idle)
		if id := [2]string{w.Waiter, w.Schema + "." + w.Table}; seen[id] {
			continue
		} else {
			seen[id] = true
		}
		spot.Waits++
		most[spot]++
		spot.Longest = max(spot.Longest, w.For)
		spot.statement(l.shape(w.Statement), w)
	}
	for s, n := range most {
		s.Most = max(s.Most, n)
	}
	return nil
}

// spot finds what a wait is for.
func (l *looker) spot(ctx context.Context, w *dialect.Wait) (*Spot, error) {
	schema, name := w.Schema, w.Table
	if name == "" {
		schema, name = l.target(w.Statement)
	}
	var key map[string]string
	if t, err := l.table(ctx, schema, name); err != nil {
		return nil, err
	} else if t != nil && t.facts != nil {
		schema, name = t.facts.Schema, t.facts.Name
		values, err := l.observer.Locked(ctx, l.session, t.facts, t.key, w)
		if err != nil { // such as a table that may not be read
			l.noteOnce("which row of " + name + " is waited for cannot be seen: " + err.Error())
		}
		if len(values) == len(t.key) && len(values) > 0 {
			key = map[string]string{}
			for i, k := range t.key {
				key[k] = values[i]
			}
		}
	}
	for _, s := range l.report.Spots {
		if s.Schema == schema && s.Table == name && sameKey(s.Key, key) {
			return s, nil
		}
	}
	s := &Spot{Schema: schema, Table: name, Key: key}
	l.report.Spots = append(l.report.Spots, s)
	return s, nil
}

// noteOnce notes something, one time.
func (l *looker) noteOnce(note string) {
	if !slices.Contains(l.report.Notes, note) {
		l.report.Notes = append(l.report.Notes, note)
	}
}

func sameKey(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
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

const maxStatements = 20

func (s *Spot) statement(shape string, w *dialect.Wait) {
	for _, st := range s.Statements {
		if st.SQL == shape {
			st.Seen++
			return
		}
	}
	if len(s.Statements) < maxStatements {
		s.Statements = append(s.Statements, &Statement{SQL: shape, Seen: 1, Cut: w.Cut, full: w.Statement})
	}
}

func (s *Spot) holder(shape string, idle bool) {
	for _, h := range s.Holders {
		if h.SQL == shape && h.Idle == idle {
			h.Seen++
			return
		}
	}
	if len(s.Holders) < maxStatements {
		s.Holders = append(s.Holders, &Holder{SQL: shape, Idle: idle, Seen: 1})
	}
}
