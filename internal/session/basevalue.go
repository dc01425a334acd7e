package session

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/rewrite"
)

// Transactions that have taken from slots of one row ask another session whether the base row
// satisfies their guards. All that ask the same question before it is sent share the answer: it is
// as of a moment after each of them has locked its slot.

// question is a query that several transactions may share.
type question struct {
	sql  string
	args []any
}

// text identifies the question.
func (q *question) text() string { return fmt.Sprintf("%s%#v", q.sql, q.args) }

// baseAnswer is the answer to a question.
type baseAnswer struct {
	done chan struct{}
	rows [][]any
	err  error
}

// ask returns the answer to a question that is sent after ask is called.
func (o *observers) ask(ctx context.Context, s *Shared, q *question) ([][]any, error) {
	n, ok := s.Dialect.(dialect.SlotNamer)
	if !ok {
		return nil, errNoSide
	}
	text := q.text()
	o.asking.Lock()
	a := o.common[text]
	if a == nil {
		a = &baseAnswer{done: make(chan struct{})}
		o.common[text] = a
		go o.send(context.WithoutCancel(ctx), s, n, a, q)
	}
	o.asking.Unlock()
	select {
	case <-a.done:
		return a.rows, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send asks another session as soon as one is free. A transaction that asks after that has a new
// question sent.
func (o *observers) send(ctx context.Context, s *Shared, n dialect.SlotNamer, a *baseAnswer, q *question) {
	defer close(a.done)
	text := q.text()
	sent := func() {
		o.asking.Lock()
		defer o.asking.Unlock()
		if o.common[text] == a {
			delete(o.common, text)
		}
	}
	defer sent()
	a.rows, a.err = o.query(ctx, s, n, sent, q.sql, q.args...)
}

// baseQuestion returns the question about the execution's base row: nil if the slot's own
// statement proves the answer, and false if it cannot be asked. Whole numbers are written into its
// SQL, so that it need not be prepared.
func baseQuestion(r *Run, p *rewrite.Portion, own binding) (*question, bool) {
	if len(p.Base.Parts) == 0 {
		return nil, true
	}
	q, b := &question{}, strings.Builder{}
	for i := range p.Base.Parts {
		b.WriteString(p.Base.Parts[i].Of(r.Plan.Values))
		if i == len(p.Base.Args) {
			break
		}
		values, err := r.bind(p.Base.Args[i:i+1], own)
		if err != nil {
			return nil, false
		}
		v := values[0].Value
		if n, ok := argument.Integer(v); ok && driver.IsValue(v) {
			b.WriteString(strconv.FormatInt(n, 10))
			continue
		}
		if !driver.IsValue(v) {
			return nil, false
		}
		b.WriteString(r.conn.Dialect().Placeholder(len(q.args) + 1))
		v, _ = argument.Kept(v)
		q.args = append(q.args, v)
	}
	q.sql = b.String()
	return q, true
}
