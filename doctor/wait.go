package doctor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

// wait is what was seen of one execution that waited for one row, or for a table if the row is
// not known.
type wait struct {
	schema, table string
	key           map[string]string
	statement     Statement
	holders       []Holder
	looks         []int // that have seen it
	longest, lost time.Duration
}

// once takes one look, the given time after the one before it.
func (l *looker) once(ctx context.Context, since time.Duration) error {
	statements, err := l.observer.Statements(ctx, l.session)
	if err != nil {
		return err
	}
	for _, t := range statements {
		l.note(t)
	}
	// The rows that are waited for change all the time. In one snapshot they are found as they were.
	tx, err := l.session.Conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has read only
	waits, err := l.observer.Waits(ctx, l.session)
	if err != nil {
		return err
	}
	l.report.Looks++
	for i := range waits {
		l.note(waits[i].Statement)
		l.note(waits[i].Holding)
		seen, err := l.wait(ctx, tx, &waits[i])
		if err != nil {
			return err
		}
		if l.report.Looks == 1 {
			since = waits[i].For
		}
		seen.see(l.report.Looks, since, &waits[i], l.shape(waits[i].Holding))
	}
	return nil
}

// see notes what a look has seen of the wait. A session may wait for several others: the look
// then sees the wait as often.
func (s *wait) see(look int, since time.Duration, w *dialect.Wait, holding string) {
	if h := (Holder{SQL: holding, Idle: w.Idle, Seen: 1}); !slices.Contains(s.holders, h) {
		s.holders = append(s.holders, h)
	}
	s.longest = max(s.longest, w.For)
	if !slices.Contains(s.looks, look) {
		s.looks = append(s.looks, look)
		s.lost += since
	}
}

// wait returns the wait that w has seen.
func (l *looker) wait(ctx context.Context, tx *sql.Tx, w *dialect.Wait) (*wait, error) {
	schema, name := w.Schema, w.Table
	if name == "" {
		schema, name = l.target(w.Statement)
	}
	t, err := l.table(ctx, schema, name)
	if err != nil {
		return nil, err
	}
	var key map[string]string
	if t != nil && t.facts != nil {
		schema, name, key = t.facts.Schema, t.facts.Name, l.locked(ctx, tx, t, w)
	}
	for _, s := range l.executions[w.Execution] {
		if s.schema == schema && s.table == name && (s.key == nil || key == nil || maps.Equal(s.key, key)) {
			if s.key == nil {
				s.key = key
			}
			return s, nil
		}
	}
	s := &wait{
		schema: schema, table: name, key: key,
		statement: Statement{SQL: l.shape(w.Statement), Cut: w.Cut, full: w.Statement},
	}
	l.executions[w.Execution] = append(l.executions[w.Execution], s)
	l.waits = append(l.waits, s)
	return s, nil
}

// locked returns the key of the row that is waited for, nil if it cannot be seen.
func (l *looker) locked(ctx context.Context, tx *sql.Tx, t *table, w *dialect.Wait) map[string]string {
	if len(t.key) == 0 || t.unreadable {
		return nil
	}
	values, err := l.observer.Locked(ctx, l.session, t.facts, t.key, w)
	if err != nil { // such as a table that may not be read
		_ = tx.Rollback() // after the error it takes no more statements
		t.unreadable = true
		l.noteOnce("which row of " + t.facts.Name + " is waited for cannot be seen: " + err.Error())
	}
	if len(values) != len(t.key) {
		return nil
	}
	key := map[string]string{}
	for i, k := range t.key {
		key[k] = values[i]
	}
	return key
}

// row identifies what is waited for.
func (s *wait) row() string { return fmt.Sprintf("%q.%q %q", s.schema, s.table, s.key) }

// nameRows gives the waits whose row had changed before it was found the key of the only row of
// their table that was found.
func (l *looker) nameRows() {
	keys := map[[2]string]map[string]map[string]string{} // by table and row
	for _, w := range l.waits {
		if of := [2]string{w.schema, w.table}; w.key != nil {
			if keys[of] == nil {
				keys[of] = map[string]map[string]string{}
			}
			keys[of][w.row()] = w.key
		}
	}
	for _, w := range l.waits {
		if only := keys[[2]string{w.schema, w.table}]; w.key == nil && len(only) == 1 {
			for _, key := range only {
				w.key = key
			}
		}
	}
}

// spots sums the waits by row, those that have lost most first.
func (l *looker) spots() []*Spot {
	l.nameRows()
	out, by := []*Spot{}, map[string]*Spot{}
	waiting := map[*Spot]map[int]int{} // sessions, by look
	for _, w := range l.waits {
		s := by[w.row()]
		if s == nil {
			s = &Spot{Schema: w.schema, Table: w.table, Key: w.key}
			by[w.row()], waiting[s] = s, map[int]int{}
			out = append(out, s)
		}
		s.Waits++
		s.Lost += w.lost
		s.Longest = max(s.Longest, w.longest)
		for _, look := range w.looks {
			waiting[s][look]++
			s.Most = max(s.Most, waiting[s][look])
		}
		s.statement(w.statement)
		for _, h := range w.holders {
			s.holder(h)
		}
	}
	slices.SortStableFunc(out, func(a, b *Spot) int { return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Waits, a.Waits)) })
	return out
}

const maxStatements = 20

func (s *Spot) statement(st Statement) {
	for _, o := range s.Statements {
		if o.SQL == st.SQL {
			o.Seen++
			return
		}
	}
	if st.Seen = 1; len(s.Statements) < maxStatements {
		s.Statements = append(s.Statements, &st)
	}
}

func (s *Spot) holder(h Holder) {
	for _, o := range s.Holders {
		if o.SQL == h.SQL && o.Idle == h.Idle {
			o.Seen++
			return
		}
	}
	if len(s.Holders) < maxStatements {
		s.Holders = append(s.Holders, &h)
	}
}
