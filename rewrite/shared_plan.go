package rewrite

import (
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A SharedPlan is the plan of all statements of one shape that agree in the literals on
// which the planner's decisions depend. It is made with sentinels in place of the other
// literals, and of comments and white space, and has fields where these are.
type SharedPlan struct {
	plan   *Plan
	known  []bool // by field
	heads  []head // the strings with fields that are filled with the plan itself
	varies bool   // what it refers to has fields
	made   int    // the number of patterns that are filled
}

// head is a string of a plan that is read whenever the plan runs.
type head struct {
	of  func(*Plan) *string
	sql *pattern
}

var heads = []func(*Plan) *string{
	func(p *Plan) *string { return &p.SQL },
	func(p *Plan) *string { return &p.Reason },
	func(p *Plan) *string { return &p.GroupReason },
}

// ScanShape divides a statement into its shape and its literals, as Shape.Scan does for the dialect.
func ScanShape(d Dialect, sh *lex.Shape, sql string, named func(string) bool) bool {
	return sh.Scan(d.LexRules(), d.Traits().ItemNames != names.ItemsByRule, sql, named)
}

// maxTries bounds how often a statement is planned until no decision depends on a literal that is
// not known.
const maxTries = 8

// Share makes a plan that a statement of shape o shares with others, or nil if it cannot. own is the
// statement's plan, made for itself: filled for that statement, the shared plan must be the same.
func (pl *Planner) Share(o *lex.Shape, own *Plan) *SharedPlan {
	s := &SharedPlan{known: make([]bool, len(o.Fields))}
	for range maxTries {
		m := newSentinels(o, s.known)
		marked := *pl
		marked.sentinels = m
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
		if !s.generalize(plan, m, sql) || !samePlan(s.Of(o), own) {
			return nil
		}
		return s
	}
	return nil
}

// samePlan reports whether two plans of a statement are the same. One of a statement that
// runs as it is need not know how many arguments that takes.
func samePlan(a, b *Plan) bool {
	one, other := *a.Whole(), *b.Whole()
	if a.Class == PassThrough && b.Class == PassThrough && a.Group == nil && b.Group == nil {
		one.Inputs, other.Inputs = 0, 0
	}
	return reflect.DeepEqual(&one, &other)
}

// Known reports, by field, whether the planner's decisions depend on it.
func (s *SharedPlan) Known() []bool { return slices.Clone(s.known) }

// Of returns the plan of a statement of the shape that has the known literals.
func (s *SharedPlan) Of(o *lex.Shape) *Plan {
	made := &struct {
		Plan
		of FieldValues
	}{}
	s.Fill(o, &made.Plan, &made.of)
	return &made.Plan
}

// Fill is Of, except that it writes into p and h instead of allocating them. What the Plan refers
// to is still that of the shared plan, which is never changed.
func (s *SharedPlan) Fill(o *lex.Shape, p *Plan, h *FieldValues) {
	*p = *s.plan
	for _, h := range s.heads {
		*h.of(p) = h.sql.fill(o.SQL, o.Fields)
	}
	if s.varies { // o is used again for other statements
		h.plan, h.sql, h.at, h.made = s, o.SQL, slices.Clone(o.Fields), make([]atomic.Pointer[string], s.made)
		p.Values = h
	}
}

// Whole returns the plan as one of the statement's own, without fields.
func (p *Plan) Whole() *Plan {
	if p.Values == nil {
		return p
	}
	own := *p
	own.Values = nil
	p.Values.into(reflect.ValueOf(&own).Elem())
	return &own
}

// into copies what a value refers to, and fills its fields.
func (h *FieldValues) into(v reflect.Value) {
	if !v.CanSet() {
		return // it has none, see generalizer.value
	}
	switch x := v.Addr().Interface().(type) {
	case *SQL:
		*x = Whole(x.Of(h))
		return
	case *Literal:
		*x = Literal{same: x.Of(h)}
		return
	case **schema.Table, *[]*schema.Table:
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
