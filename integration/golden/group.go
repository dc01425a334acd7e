package golden

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
)

// group prints the form that executions share, or why there is none.
func (b *printer) group(indent string, p *rewrite.Plan, allSteps bool) {
	if p.GroupReason != "" {
		b.line(indent, "no group", p.GroupReason)
	}
	g := p.Group
	if g == nil {
		return
	}
	b.bound(indent, "group", g.Bound)
	indent += "  "
	if g.Unchanged != nil {
		b.bound(indent, "unchanged", *g.Unchanged)
	}
	if cs := g.CompareAndSet; cs != nil {
		if cs.Step != nil {
			b.line(indent, "version", cs.Version+" "+step(cs.Step))
		}
		b.bound(indent, "still", cs.Still)
	}
	if g.Lease.Block > 0 {
		b.line(indent, "blocks", fmt.Sprintf("of at most %d", g.Lease.Block))
	}
	if g.Lease.TryLock != nil && allSteps {
		b.bound(indent, "try lock", *g.Lease.TryLock)
	}
	if g.One != nil {
		b.bound(indent, "of one", *g.One)
	}
	if g.Many != nil && allSteps {
		b.bound(indent, "of many rows", g.Many.Bound)
	}
	b.line(indent, "shares", shares(g.Shares))
	for _, x := range g.Guards {
		b.line(indent, "guard", guard(g, x))
	}
	if len(g.Returns) > 0 {
		b.line(indent, "returns", returns(g.Returns))
	}
	if g.InsertID > 0 {
		b.line(indent, "insert ID", fmt.Sprintf("counter %d", g.InsertID))
	}
	if len(g.NotNumber) > 0 {
		b.line(indent, "not numbers", args(g.NotNumber))
	}
	if g.Upsert != nil {
		for _, k := range g.Upsert.Keys {
			demand := arg(k.Arg) + " not NULL"
			if k.Numbered {
				demand = arg(k.Arg) + " an integer other than 0"
			}
			b.line(indent, "key", demand)
		}
	}
	for _, x := range g.Inserted {
		b.line(indent, "given", given(x))
	}
}

// step says what becomes of a version.
func step(s *rewrite.VersionStep) string {
	term := func(t rewrite.Term) string {
		if t.Arg != nil {
			return arg(*t.Arg)
		}
		return strconv.FormatInt(t.Literal.Of(nil), 10)
	}
	to := term(s.Sets)
	if s.Adds {
		to = "plus " + to
	}
	return fmt.Sprintf("%s becomes %s, from %d to %d", term(s.Expects), to, s.Low, s.High)
}

// summed names what a group binds in the place of its members' own numbers.
func summed(a rewrite.Arg) string {
	s := fmt.Sprintf("total %d", a.Total)
	if a.First {
		s += " of a new row"
	}
	if a.Bound > 0 {
		s = fmt.Sprintf("bound %d", a.Bound)
	}
	if a.Negate {
		s = "-" + s
	}
	return s
}

// guard says what a member demands of a counter.
func guard(g *rewrite.Group, x rewrite.Guard) string {
	s := fmt.Sprintf("counter %d at ", x.Share+1)
	if x.AtLeast {
		s += "least "
	} else {
		s += "most "
	}
	if x.Arg != nil {
		s += arg(*x.Arg)
	} else {
		s += strconv.FormatInt(x.Literal.Of(nil), 10)
	}
	s += fmt.Sprintf(", of at most %d", x.Max)
	if scale := g.Shares[x.Share].Scale; scale > 0 {
		s += fmt.Sprintf(" in units of 1e-%d", scale)
	}
	return s
}

// returns says what each column of RETURNING is.
func returns(list []int) string {
	out := make([]string, len(list))
	for i, n := range list {
		if out[i] = "the same for all"; n > 0 {
			out[i] = fmt.Sprintf("counter %d", n)
		}
	}
	return strings.Join(out, ", ")
}
