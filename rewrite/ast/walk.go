package ast

// Visitor is called for the parts of a statement at every depth, a part before
// what is in it. A function that is nil is not called.
type Visitor struct {
	Statement func(*Statement) // the statement itself, and a CTE's
	CTE       func(*CTE)
	Query     func(*Select) // each operand, too, of what combines several
	Source    func(*Source) // each side, too, of a join
	Expr      func(*Expr)   // each operand, too
}

// Walk visits the statement, which may be nil, and everything in it.
func (v *Visitor) Walk(st *Statement) {
	if st == nil {
		return
	}
	visit(v.Statement, st)
	v.ctes(st.With)
	v.query(st.Select)
	v.source(st.Target)
	v.sources(st.From)
	v.assignments(st.Set)
	v.lists(st.Rows...)
	v.lists([]*Expr{st.Where}, st.OrderBy, st.Limit)
	v.items(st.Returning)
	if c := st.Conflict; c != nil {
		v.lists(c.Others, []*Expr{c.Predicate, c.Where})
		v.assignments(c.Set)
	}
}

func visit[T any](f func(*T), part *T) {
	if f != nil {
		f(part)
	}
}

func (v *Visitor) ctes(with []*CTE) {
	for _, c := range with {
		visit(v.CTE, c)
		v.query(c.Select)
		v.Walk(c.Statement)
	}
}

func (v *Visitor) query(q *Select) {
	if q == nil {
		return
	}
	visit(v.Query, q)
	v.ctes(q.With)
	for _, o := range q.Operands {
		v.query(o)
	}
	v.items(q.Items)
	v.sources(q.From)
	v.lists(q.Values...)
	v.lists(q.DistinctOn, []*Expr{q.Where}, q.GroupBy, []*Expr{q.Having}, q.Windows, q.OrderBy, q.Limit)
}

func (v *Visitor) sources(list []*Source) {
	for _, s := range list {
		v.source(s)
	}
}

func (v *Visitor) source(s *Source) {
	if s == nil {
		return
	}
	visit(v.Source, s)
	v.source(s.Left)
	v.source(s.Right)
	v.query(s.Select)
	v.lists([]*Expr{s.Func, s.On})
}

func (v *Visitor) items(list []Item) {
	for _, it := range list {
		v.expr(it.Expr)
	}
}

func (v *Visitor) assignments(list []Assignment) {
	for _, a := range list {
		v.expr(a.Value)
	}
}

func (v *Visitor) lists(lists ...[]*Expr) {
	for _, l := range lists {
		for _, e := range l {
			v.expr(e)
		}
	}
}

func (v *Visitor) expr(e *Expr) {
	e.Walk(func(x *Expr) bool {
		visit(v.Expr, x)
		v.query(x.Query)
		return true
	})
}
