package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// multi plans several statements in one call. When every one of them runs as it
// is, so does the whole; otherwise they are run one by one.
func (pl *Planner) multi(sql string, tokens []lex.Token, spans []lex.Span) (*Plan, error) {
	out := &Plan{Class: Multi, SQL: sql, Effects: pl.effectsOf(sql, tokens)}
	asIs, base := true, 0
	missing := &MissingError{}
	for _, sp := range spans {
		part, numbers := renumbered(pl.Dialect, sql[sp.Start:sp.End])
		plan, err := pl.Plan(part)
		if m, ok := err.(*MissingError); ok {
			missing.Names = append(missing.Names, m.Names...)
			continue
		}
		src := newSource(pl.Dialect.LexRules(), part)
		pt := Part{Plan: plan, SQL: part, ArgBase: base, Params: src.inputs(), Numbers: numbers}
		for _, e := range lex.TxEvents(pl.Dialect.LexRules(), part) {
			pt.TxBegin, pt.TxEnd = e.Kind == lex.TxBegins, e.Kind == lex.TxEnds
		}
		base += src.inputs()
		out.Effects |= plan.Effects
		pt.Dynamic = DynamicOf(pl.Dialect, part) != nil
		asIs = asIs && plan.AsIs() && !changesReading(plan, part) && !pt.Dynamic && plan.Effects&TicketRecall == 0
		if plan.Class == Refused {
			// Before its first part has run.
			return &Plan{Class: Refused, SQL: sql, Tables: plan.Tables, Reason: plan.Reason, Effects: out.Effects}, nil
		}
		out.Parts = append(out.Parts, pt)
		for _, t := range plan.Tables {
			out.Tables = appendNew(out.Tables, t)
		}
		if plan.Reason != "" && out.Reason == "" {
			out.Reason = plan.Reason
		}
	}
	if len(missing.Names) > 0 {
		return nil, missing
	}
	if asIs {
		for _, part := range out.Parts {
			for i := range part.Plan.Base.Changes {
				out.Base.Changes = append(out.Base.Changes, DrainAll(pl.Dialect, part.Plan.Base.Changes[i].Table))
			}
		}
		out.Class, out.Parts, out.Base.Several = AdditiveBase, nil, true
		if len(out.Tables) == 0 {
			out.Class = PassThrough
		}
	}
	return out, nil
}

// renumbered numbers the placeholders of one of several statements from 1 again, and returns the numbers that they had in the
// call: $3 is the third argument of the call, whichever statement it is in. It leaves alone placeholders without numbers, and those that
// the server is to refuse.
func renumbered(d Dialect, part string) (string, []int) {
	if !d.LexRules().DollarParam || strings.IndexByte(part, '$') < 0 {
		return part, nil
	}
	src := newSource(d.LexRules(), part)
	var numbers []int
	var edits []edit
	for _, p := range src.params {
		if p.invalid {
			continue
		}
		n := slices.Index(numbers, p.arg.Index+1) + 1
		if n == 0 {
			numbers = append(numbers, p.arg.Index+1)
			n = len(numbers)
		}
		edits = append(edits, edit{Span: p.Span, sql: d.Placeholder(n)})
	}
	return src.apply(edits), numbers
}

// InCall gives the placeholders of what is sent for a statement the numbers again that they have in the call.
func (p *Part) InCall(d Dialect, sql string) string {
	if p.Numbers == nil {
		return sql
	}
	src := newSource(d.LexRules(), sql)
	var edits []edit
	for _, q := range src.params {
		if !q.invalid {
			edits = append(edits, edit{Span: q.Span, sql: d.Placeholder(p.Numbers[q.arg.Index])})
		}
	}
	return src.apply(edits)
}

// changesReading reports whether a part may change the rules by which the parts
// after it are read, so that they have to be planned when it has run.
func changesReading(plan *Plan, part string) bool {
	contains := func(word string) bool { return lex.ContainsFold(part, word) }
	return plan.Effects&SessionChange != 0 && (contains("sql_mode") || contains("charset") || contains("character") || contains("names"))
}
