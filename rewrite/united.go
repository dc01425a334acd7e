package rewrite

import (
	"strconv"
	"strings"
)

// Sums by group of a whole table.
//
// `SELECT author, SUM(views) FROM posts GROUP BY author` needs no row's total: what a group's slots
// hold may be added up beside the group's base values. So the table is replaced by a query of
// its rows, followed by a row for each slot that has the columns of its base row, but in each
// counter only what the slot holds:
//
//	FROM (SELECT id, author, views, TRUE AS slotsql_m FROM posts
//	      UNION ALL SELECT posts.id, posts.author, <views of the slot>, NULL
//	      FROM posts_slots AS slotsql_g JOIN posts ON ...) AS posts
//
// Each slot row belongs to one base row, so it is in its group, and makes no group. SUM of a counter
// is the sum of totals; MIN and MAX of other columns see the same values, some twice; other
// aggregates are made to look at base rows alone, by slotsql_m. HAVING, ORDER BY and LIMIT compute
// with these, as they stand.
//
// It spares the engine a look at the slots of each row, and costs one at each slot. With a WHERE
// the rows are usually few, and looking at theirs is the better way.

// united writes it; false where the query has another form.
func (r *reader) united(q *Select) (edits []edit, ok bool) {
	if !r.d.Traits().UnionsMerge || r.found.wholeRow || r.found.locks || len(r.derived) > 0 || strings.Contains(r.src.sql, markerByte) ||
		!ofOneTable(q) || len(q.GroupBy) == 0 || q.Where != nil ||
		r.windowed() || r.groupingSets() {
		return nil, false
	}
	u := uniter{summer: summer{candidates: candidates{reader: r, q: q, sc: r.newScope(nil, nil, q.From), lone: true}}}
	u.b = u.sc.bindings[0]
	t := u.b.table
	if !u.b.counts || len(u.b.columns) > 0 || u.limitedByQuery() || len(t.Counter.Key) == 0 || !u.tied(t) || r.underivable(u.b) != "" {
		return nil, false
	}
	if !u.groups() {
		return nil, false
	}
	for _, it := range q.Items {
		if it.Expr == nil || !u.item(it) {
			return nil, false
		}
	}
	for _, e := range append([]*Expr{q.Having}, q.OrderBy...) {
		if e != nil && !u.computed(e) {
			return nil, false
		}
	}
	if !u.summed {
		return nil, false
	}
	r.addStar(t)
	return append(u.edits, u.source(q.From[0])...), true
}

// A uniter writes the edits.
type uniter struct {
	summer
	edits  []edit
	summed bool
	by     map[string]bool // columns that GROUP BY names
}

// groups reports whether groups depend on ordinary columns alone, and are not the rows by
// their key, by which the engine would know all columns of a table.
func (u *uniter) groups() bool {
	known := false
	if u.by, known = (&blockReader{u.reader, u.sc, u.q}).groupedColumns(u.b); !known {
		return false
	}
	for _, k := range u.b.table.Uniques {
		whole := true
		for _, c := range k.Columns {
			whole = whole && u.by[c]
		}
		if whole {
			return false
		}
	}
	for _, e := range u.q.GroupBy {
		if e.Kind != Number && !u.ordinary(e) && u.alias(e) == nil {
			return false
		}
	}
	return true
}

// alias returns the item that a name of a result column means.
func (u *uniter) alias(e *Expr) *Expr {
	if e.Kind != ColumnRef || len(e.Name) != 1 {
		return nil
	}
	for _, it := range u.q.Items {
		if it.Alias != nil && u.sameLabel(e.Name[0], *it.Alias) {
			return it.Expr
		}
	}
	return nil
}

// ordinary reports whether an expression computes with ordinary columns of the table, and gives
// the same value each time.
func (u *uniter) ordinary(e *Expr) bool {
	ok := u.unsteady(u.sc, e) == "" && namesOnly(e, u.ordinaryColumn, false)
	e.Walk(func(x *Expr) bool {
		ok = ok && !x.Aggregate
		return ok
	})
	return ok
}

func (u *uniter) ordinaryColumn(name []Ident) bool {
	column := u.targetColumn(u.sc, u.b, name)
	return column != "" && u.ownColumn(name) && !u.b.table.IsSlotted(column)
}

// item is computed for an item of the result, which keeps its name.
func (u *uniter) item(it Item) bool {
	n := len(u.edits)
	if !u.computed(it.Expr) {
		return false
	}
	if len(u.edits) > n && it.Alias == nil && u.d.Traits().ItemNames != ItemsByRule {
		return false
	}
	return true
}

// scalar are functions that compute with what aggregates return.
var scalar = Names("coalesce nullif round abs floor ceil ceiling greatest least")

// grouped reports whether an expression is one that the block groups by.
func (u *uniter) grouped(e *Expr) bool {
	for _, g := range u.q.GroupBy {
		if g.Kind == Number {
			if n, err := strconv.Atoi(u.src.sql[g.Start:g.End]); err == nil && n >= 1 && n <= len(u.q.Items) && u.q.Items[n-1].Expr == e {
				return u.ordinary(e)
			}
		}
		if u.alias(g) == e || u.src.sql[g.Start:g.End] == u.src.sql[e.Start:e.End] {
			return u.ordinary(e)
		}
	}
	return false
}

// computed reports whether an expression is made of aggregates, what the block groups by, and
// constants. Where an engine takes other columns as well, it takes them of any row.
func (u *uniter) computed(e *Expr) bool {
	if e.Kind != Number && e.Kind != Param && u.grouped(e) {
		return true
	}
	switch e.Kind {
	case Number, String, Null, Param:
		return true
	case ColumnRef:
		return u.ordinaryColumn(e.Name) && u.by[u.targetColumn(u.sc, u.b, e.Name)] || u.alias(e) != nil && !u.isCounter(e)
	case Binary, Unary, Paren, In:
		for _, a := range e.Args {
			if !u.computed(a) {
				return false
			}
		}
		return true
	case Call:
		return u.call(e)
	}
	return false
}

// call looks at an aggregate, or at a function of aggregates.
func (u *uniter) call(e *Expr) bool {
	if e.Op == "count" && u.countsRows(e) {
		u.edits = append(u.edits, edit{Span{u.src.tokens[u.src.tokenAt(e.Start)+2].Start, e.End - 1}, u.mark()})
		return true
	}
	if scalar[strings.ToUpper(e.Op)] && !e.Aggregate {
		for _, a := range e.Args {
			if !u.computed(a) {
				return false
			}
		}
		return true
	}
	if len(e.Args) != 1 || e.Op != "sum" && e.Op != "count" && e.Op != "avg" && e.Op != "min" && e.Op != "max" || !u.src.bareCall(e) {
		return false
	}
	a := e.Args[0]
	if e.Op == "sum" && u.isCounter(a) && len(a.Name) < 3 {
		if t, _ := u.resolve(u.sc, a.Name); !u.b.table.IsCounter(t.column.Name) || t.column.Numeric != Integer && t.column.Numeric != Decimal ||
			u.d.Traits().AnyType && t.column.Numeric != Integer {
			return false
		}
		u.summed = true
		return true
	}
	if !u.ordinary(a) {
		return false
	}
	if e.Op != "min" && e.Op != "max" {
		u.edits = append(u.edits, edit{Span{a.Start, a.Start}, "CASE WHEN " + u.mark() + " THEN "}, edit{Span{a.End, a.End}, " END"})
	}
	return true
}

// countsRows recognises COUNT(*).
func (u *uniter) countsRows(e *Expr) bool {
	i := u.src.tokenAt(e.Start)
	return u.src.is(i+1, "(") && u.src.is(i+2, "*") && u.src.is(i+3, ")") && u.src.tokens[i+3].End == e.End
}

// mark is what is true of base rows, and NULL of slots.
func (u *uniter) mark() string { return u.qualifier(u.b) + "." + u.d.Quote("slotsql_m") }

// source writes the query in FROM.
func (u *uniter) source(s *Source) []edit {
	t, q := u.b.table, u.qualifier(u.b)
	var base, slot, same []string
	for i := range t.Columns {
		c := &t.Columns[i]
		name := q + "." + u.d.Quote(c.Name)
		base = append(base, name)
		if t.IsCounter(c.Name) && (c.Numeric == Integer || c.Numeric == Decimal) {
			held := "slotsql_g." + u.d.Quote(c.Name)
			if typed := u.d.Traits().ConstantType; typed != nil {
				held = "CAST(" + held + " AS " + typed(c) + ")"
			}
			if c.Nullable {
				held = "CASE WHEN " + name + " IS NOT NULL THEN " + held + " END"
			}
			name = held + " AS " + u.d.Quote(c.Name)
		}
		slot = append(slot, name)
	}
	for _, k := range t.Counter.Key {
		same = append(same, "slotsql_g."+u.d.Quote(k)+" = "+q+"."+u.d.Quote(k))
	}
	return []edit{
		{Span{s.Ref.Start, s.Ref.Start}, "(SELECT " + strings.Join(base, ", ") + ", 1 = 1 AS slotsql_m FROM "},
		{Span{s.Ref.End, s.Ref.End}, " UNION ALL SELECT " + strings.Join(slot, ", ") + ", NULL FROM " +
			SlotSource(u.d, t, t.Counter.Counters...) + " AS slotsql_g JOIN " +
			u.src.sql[s.Ref.Start:s.Ref.End] + " ON " + strings.Join(same, " AND ") + ") AS " + q},
	}
}
