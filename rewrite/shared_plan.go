package rewrite

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// A SharedPlan is the plan of all statements of one shape that agree in the literals on
// which the planner's decisions depend. It is made with marks in place of the other
// literals, and of comments and white space, and has holes where these are.
type SharedPlan struct {
	plan  *Plan
	known []bool // by hole
	heads []head // what of the plan is made with it
	holed bool   // what it refers to has holes
	made  int    // of so much SQL
}

// head is a string of a plan that is asked for whenever it runs.
type head struct {
	of  func(*Plan) *string
	sql *holed
}

var heads = []func(*Plan) *string{
	func(p *Plan) *string { return &p.SQL },
	func(p *Plan) *string { return &p.Reason },
	func(p *Plan) *string { return &p.GroupReason },
	func(p *Plan) *string { return &p.Read.Probe },
	func(p *Plan) *string { return &p.Read.Held },
}

// maxTries bounds how often a statement is planned until the planner meets no literal
// that it did not know.
const maxTries = 8

// Share makes a plan that a statement of which o is the outline shares with others; nil
// where it shares none. own is the statement's plan, made for itself, which the shared one
// must come out as.
func (pl *Planner) Share(o *lex.Shape, own *Plan) *SharedPlan {
	s := &SharedPlan{known: make([]bool, len(o.Fields))}
	for range maxTries {
		m := newMarks(o, s.known)
		marked := *pl
		marked.marks = m
		sql := m.text(o)
		plan, err := marked.Plan(sql)
		if err != nil {
			return nil
		}
		more := false
		for i, looked := range m.looked {
			more = more || looked && !s.known[i]
			s.known[i] = s.known[i] || looked
		}
		if more {
			continue
		}
		if !s.cook(plan, m, sql) || !alike(s.Of(o), own) {
			return nil
		}
		return s
	}
	return nil
}

// alike reports whether two plans of a statement are the same. One of a statement that
// runs as it is need not know how many arguments that takes.
func alike(a, b *Plan) bool {
	one, other := *a.Whole(), *b.Whole()
	if a.Class == PassThrough && b.Class == PassThrough && a.Group == nil && b.Group == nil {
		one.Inputs, other.Inputs = 0, 0
	}
	return reflect.DeepEqual(&one, &other)
}

// Known reports, by hole, whether the planner has decided by what stands there.
func (s *SharedPlan) Known() []bool { return slices.Clone(s.known) }

// Of returns the plan of a statement of the shape that has the known literals.
func (s *SharedPlan) Of(o *lex.Shape) *Plan {
	made := &struct {
		Plan
		of Holes
	}{}
	s.Fill(o, &made.Plan, &made.of)
	return &made.Plan
}

// Fill is Of, except that it writes into p and h instead of allocating them. What the Plan refers
// to is still that of the shared plan, which is never changed.
func (s *SharedPlan) Fill(o *lex.Shape, p *Plan, h *Holes) {
	*p = *s.plan
	for _, h := range s.heads {
		*h.of(p) = h.sql.fill(o.SQL, o.Fields)
	}
	if s.holed { // o is used again for other statements
		h.plan, h.sql, h.at, h.made = s, o.SQL, slices.Clone(o.Fields), make([]atomic.Pointer[string], s.made)
		p.Holes = h
	}
}

// Whole returns the plan as one of the statement's own, which has no holes.
func (p *Plan) Whole() *Plan {
	if p.Holes == nil {
		return p
	}
	own := *p
	own.Holes = nil
	p.Holes.into(reflect.ValueOf(&own).Elem())
	return &own
}

// into copies what a value refers to, and fills its holes.
func (h *Holes) into(v reflect.Value) {
	if !v.CanSet() {
		return // it has none, see cook
	}
	switch x := v.Addr().Interface().(type) {
	case *SQL:
		*x = Whole(x.Of(h))
		return
	case *Literal:
		*x = Literal{same: x.Of(h)}
		return
	case **Table, *[]*Table:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			h.into(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			h.into(own.Elem())
			v.Set(own)
		}
	case reflect.Slice:
		if !v.IsNil() {
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			for i := range own.Len() {
				h.into(own.Index(i))
			}
			v.Set(own)
		}
	}
}
