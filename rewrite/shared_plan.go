package rewrite

import (
	"reflect"
	"slices"
	"strings"
)

// A SharedPlan is the plan of all statements of one shape that agree in the literals on
// which the planner's decisions depend. It is made with marks in place of the other
// literals, and of comments and white space. Of replaces them by a statement's own.
type SharedPlan struct {
	plan    *Plan
	known   []bool // by hole
	recipes []recipe
	root    *node
	made    int // how many pointers and slices are made for each statement
}

// maxTries bounds how often a statement is planned until the planner meets no literal
// that it did not know.
const maxTries = 8

// Share makes a plan that a statement of which o is the outline shares with others; nil
// where it shares none. own is the statement's plan, made for itself, which the shared one
// must come out as.
func (pl *Planner) Share(o *Outline, own *Plan) *SharedPlan {
	s := &SharedPlan{known: make([]bool, len(o.holes))}
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
	if a.Class == PassThrough && b.Class == PassThrough && a.Group == nil && b.Group == nil {
		one, other := *a, *b
		one.Inputs, other.Inputs = 0, 0
		a, b = &one, &other
	}
	return reflect.DeepEqual(a, b)
}

// Known returns the literals by which the planner has decided, as a key: statements of one
// shape with the same ones have one plan. known says which they are.
func (o *Outline) Known(buf []byte, known []bool) []byte {
	for i, k := range known {
		if k {
			buf = append(append(buf, o.sql[o.holes[i].Start:o.holes[i].End]...), 0)
		}
	}
	return buf
}

// Known reports, by hole, whether the planner has decided by what stands there.
func (s *SharedPlan) Known() []bool { return slices.Clone(s.known) }

// Of returns the plan of a statement of the shape that has the known literals.
func (s *SharedPlan) Of(o *Outline) *Plan {
	plan := *s.plan
	if s.root != nil {
		in := instance{made: make([]reflect.Value, s.made), strings: s.expand(o), outline: o}
		in.fill(s.root, reflect.ValueOf(&plan).Elem())
	}
	return &plan
}

// recipe is a string of the plan: pieces of its own, and pieces of the statement.
type recipe struct {
	everything bool // the statement
	pieces     []piece
}

// piece is a string, or what the statement has from one hole to another.
type piece struct {
	own         string
	first, last int
}

// expand makes the strings of a statement's plan.
func (s *SharedPlan) expand(o *Outline) []string {
	size := 0
	for i := range s.recipes {
		for _, p := range s.recipes[i].pieces {
			if size += len(p.own); p.first >= 0 {
				size += o.holes[p.last].End - o.holes[p.first].Start
			}
		}
	}
	var b strings.Builder
	b.Grow(size)
	out := make([]string, len(s.recipes))
	for i := range s.recipes {
		r := &s.recipes[i]
		if r.everything {
			out[i] = o.sql
			continue
		}
		start := b.Len()
		for _, p := range r.pieces {
			b.WriteString(p.own)
			if p.first >= 0 {
				b.WriteString(o.sql[o.holes[p.first].Start:o.holes[p.last].End])
			}
		}
		out[i] = b.String()[start:]
	}
	return out
}

// instance is the work on one statement's plan.
type instance struct {
	made    []reflect.Value
	strings []string
	outline *Outline
}

// fill puts the statement's own into a copy of a value of the shared plan.
func (in *instance) fill(n *node, v reflect.Value) {
	switch n.kind {
	case reflect.String:
		v.SetString(in.strings[n.recipe])
	case reflect.Int64:
		h := in.outline.holes[n.number.hole]
		v.SetInt(digitsOf(in.outline.sql[h.Start:h.End]) * n.number.unit)
	case reflect.Struct:
		for _, c := range n.children {
			in.fill(c.node, v.Field(c.index))
		}
	case reflect.Pointer:
		if !in.made[n.made].IsValid() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			for _, c := range n.children {
				in.fill(c.node, p.Elem())
			}
			in.made[n.made] = p
		}
		v.Set(in.made[n.made])
	case reflect.Slice:
		if !in.made[n.made].IsValid() {
			s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(s, v)
			for _, c := range n.children {
				in.fill(c.node, s.Index(c.index))
			}
			in.made[n.made] = s
		}
		v.Set(in.made[n.made])
	}
}
