package session

import (
	"context"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// Transactions that have taken from slots of one row ask for its base value. All that ask
// before a question is sent have its answer: it is of a moment after each of them has
// locked its slot.

// question is one that several transactions ask.
type question struct {
	done chan struct{}
	rows [][]any
	err  error
}

// ask returns the answer to a question that is sent after ask is called.
func (o *observers) ask(ctx context.Context, s *Shared, q string) ([][]any, error) {
	n, ok := s.Dialect.(dialect.SlotNamer)
	if !ok {
		return nil, errNoSide
	}
	o.asking.Lock()
	a := o.common[q]
	if a == nil {
		a = &question{done: make(chan struct{})}
		o.common[q] = a
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

// send asks another session when there is a free one. Who asks after it has been sent has a
// question of its own.
func (o *observers) send(ctx context.Context, s *Shared, n dialect.SlotNamer, a *question, q string) {
	defer close(a.done)
	sent := func() {
		o.asking.Lock()
		defer o.asking.Unlock()
		if o.common[q] == a {
			delete(o.common, q)
		}
	}
	defer sent()
	a.rows, a.err = o.query(ctx, s, n, sent, q)
}

// valueQuery is the question for the base value of the execution's row; false where its key
// is not of whole numbers.
func (r *Run) valueQuery(p *rewrite.Portion) (string, bool) {
	var b strings.Builder
	for i, text := range p.Value.Parts {
		b.WriteString(text)
		if i == len(p.Value.Args) {
			break
		}
		v, _ := r.value(p.Value.Args[i])
		n, ok := integerOf(v.Value)
		if !ok {
			return "", false
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return b.String(), true
}
