package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file writes the form in which a query of counters runs first: the application's own SQL with
// one more result column, which reports whether there are slots. Where there are none, the base values that the statement has read
// are the totals, whatever its shape. See docs/design/observed.md.

// SlotsColumn is the name of the column that an observed query has behind its own.
const SlotsColumn = "slotsql_slots"

// Observed is a query with one more column behind its own. It takes the arguments of the original.
type Observed struct {
	SQL SQL

	// Tables are those whose slots the column asks for. It has one value for the whole statement, unless Row is set.
	Tables []*schema.Table
	// DecidesRows reports whether counters may decide if there are any rows. No row is then no answer.
	DecidesRows bool
	// MayFail reports whether the statement may raise an error for base values that it would not raise for totals.
	MayFail bool

	// Row is set where the statement reads one row by its key. The column asks for the slots of that row.
	Row *ObservedRow
}

// ObservedRow is what a query of one row has besides.
type ObservedRow struct {
	// Held is the SQL for a transaction that has changed the row, and Key the row's key.
	Held SQL
	Key  []KeyValue
}

// end adds what follows the statement in the call's SQL.
func (o *Observed) end(rest string) {
	if o == nil {
		return
	}
	o.SQL.same += rest
	if o.Row != nil {
		o.Row.Held.same += rest
	}
}

// An ObservingDialect is a Dialect that can ask within a query for the slots of one row.
type ObservingDialect interface {
	// HasSlots writes whether a row has slots, as an expression that is true or false.
	HasSlots(t *schema.Table, qualifier string) string
	// HeldSlots writes an expression for a row that the transaction has changed. It is NULL if other sessions may have slots of
	// the row: the statement's snapshot shows some, or may be older than the change. Where the dialect cannot tell how old the
	// snapshot is, the expression is otherwise the name of the server, for another session there to be asked.
	HeldSlots(t *schema.Table, qualifier string) string
}

// observed returns the form of a query that is observed, or nil. Of reads totals in it; without one, any
// part of the query may depend on counters.
func (p *planning) observed(st *ast.Statement, tables []*schema.Table, of *reader) *Observed {
	q := st.Select
	blocks := arms(q)
	if st.Kind != ast.KindSelect || st.Opaque != "" || len(tables) == 0 || len(blocks) == 0 || p.src.large || p.names.Work > names.MaxWork ||
		!onlyReads(st) || !p.consts.positionsStay(q, blocks) ||
		slices.ContainsFunc(tables, func(t *schema.Table) bool { return t.IsView || t.Counter.Rights.Blind }) {
		return nil
	}
	if (volatility{names: &p.names, consts: &p.consts, also: noEffect, sources: true}).query(p.outer, q) != "" {
		return nil
	}
	o := &Observed{Tables: tables, DecidesRows: true, MayFail: true}
	if of != nil {
		o.DecidesRows = !of.editsOnlyValues(blocks)
		o.MayFail = of.mayFailObserved(st, o.DecidesRows)
	}
	if of != nil && !o.DecidesRows && !nests(st) && of.observedRow(o, q) {
		return o
	}
	sql, ok := p.withColumn(blocks, anySlots(p.d, tables))
	if !ok {
		return nil
	}
	o.SQL = Whole(sql)
	return o
}

// arms returns the blocks whose rows a query returns; nil if one of them has no select list.
func arms(q *ast.Select) (out []*ast.Select) {
	if q == nil {
		return nil
	}
	for _, o := range q.Operands {
		list := arms(o)
		if list == nil {
			return nil
		}
		out = append(out, list...)
	}
	if len(q.Operands) == 0 && len(q.Items) > 0 && !q.Table && len(q.Values) == 0 {
		out = []*ast.Select{q}
	}
	return out
}

// nests reports whether a query has another one within. That may read other rows than the one whose slots are asked for.
func nests(st *ast.Statement) bool {
	queries := 0
	v := ast.Visitor{Query: func(*ast.Select) { queries++ }}
	v.Walk(st)
	return queries > 1
}

// onlyReads reports whether a query neither locks rows nor writes any.
func onlyReads(st *ast.Statement) bool {
	ok := true
	v := ast.Visitor{
		Query: func(q *ast.Select) { ok = ok && !q.Lock && !q.Into },
		CTE:   func(c *ast.CTE) { ok = ok && c.Statement == nil },
	}
	v.Walk(st)
	return ok
}

// positionsStay reports whether no ORDER BY or GROUP BY may take the added column for one of its own: the engine
// refuses ORDER BY 3 of a list of two.
func (cs *constants) positionsStay(q *ast.Select, blocks []*ast.Select) bool {
	own := 0
	for _, it := range blocks[0].Items {
		if it.Expr == nil {
			return false
		}
		if it.Expr.Kind != ast.Star { // which is any number of columns
			own++
		}
	}
	if own > maxOwnItems {
		return false
	}
	stay := true
	check := func(e *ast.Expr) {
		for x := e; x != nil; {
			switch {
			case x.Kind == ast.Number:
				n, whole := keyNumber(cs.src.cut(x.Span))
				cs.sentinels.noteAbove(cs.src.sql[x.Start:x.End], int64(own))
				stay = stay && x == e && whole && n.Literal.same <= int64(own)
				return
			case x.Kind == ast.Param:
				stay = false // a parent may write the argument into the SQL
				return
			case len(x.Args) != 1 || x.Kind == ast.Call:
				return
			}
			x = x.Args[0]
		}
	}
	blocks = append([]*ast.Select{q}, blocks...)
	for _, b := range blocks {
		for _, list := range [][]*ast.Expr{b.OrderBy, b.GroupBy, b.DistinctOn} {
			for _, e := range list {
				check(e)
			}
		}
	}
	return stay
}

// maxOwnItems is far below the number of columns that an engine returns at most.
const maxOwnItems = 1000

// noEffect are functions that are not known to be stable, but leave nothing behind when the rows that they
// were called for are not used: the statement may run again.
var noEffect = Names(`
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value

	any_value array_agg bit_and bit_or bit_xor group_concat json_agg json_arrayagg json_group_array json_group_object json_object_agg
	json_objectagg jsonb_agg jsonb_object_agg mode percentile_cont percentile_disc stddev_pop stddev_samp string_agg var_pop var_samp
	variance stddev

	generate_series unnest json_each jsonb_each json_array_elements jsonb_array_elements json_table

	clock_timestamp gen_random_uuid sysdate uuid`)

// anySlots writes whether one of the tables has slots.
func anySlots(d Dialect, tables []*schema.Table) string {
	list := make([]string, len(tables))
	for i, t := range tables {
		list[i] = "EXISTS (SELECT 1 FROM " + SlotSource(d, t) + ")"
	}
	return strings.Join(list, " OR ")
}

// withColumn writes the statement with one more item in each of the blocks, behind the others; false if it is not
// certain where that is.
func (p *planning) withColumn(blocks []*ast.Select, column string) (string, bool) {
	var edits []edit
	for i, b := range blocks {
		at := b.Items[len(b.Items)-1].End
		add := ", " + column
		if i == 0 {
			add += " AS " + SlotsColumn
		}
		next := p.src.tokenAt(at)
		if !p.src.endsList(next) {
			return "", false
		}
		if p.d.Traits().ItemNames == names.ItemsToNextToken { // the name of an item ends where the next token begins
			end := len(p.src.sql)
			if next < len(p.src.tokens) {
				end = p.src.tokens[next].Start
			}
			if strings.Contains(p.src.sql[at:end], "--") && !strings.HasSuffix(p.src.sql[at:end], "\n") {
				add = "\n" + add
			}
			at, add = end, add+" "
		}
		edits = append(edits, edit{ast.At(at), add})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.Start - b.Start })
	return p.src.apply(edits), true
}

// endsList reports whether a select list ends before a token.
func (s *source) endsList(i int) bool {
	if i >= len(s.tokens) {
		return true
	}
	return slices.ContainsFunc([]string{
		"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT", "MINUS", ")", ";",
	}, func(w string) bool { return s.is(i, w) })
}

// editsOnlyValues reports whether totals take the place of counters only where they cannot decide if there are any rows:
// in the lists of the blocks whose rows are returned, and in what these are grouped or ordered by.
func (r *reader) editsOnlyValues(blocks []*ast.Select) bool {
	if r.p.src.hasWord("INTERSECT") || r.p.src.hasWord("EXCEPT") || r.p.src.hasWord("MINUS") {
		return false
	}
	within := func(e edit, spans ...ast.Span) bool {
		return slices.ContainsFunc(spans, func(s ast.Span) bool { return e.Start >= s.Start && e.End <= s.End })
	}
	var values []ast.Span
	for _, b := range blocks {
		values = append(values, ast.Span{Start: b.Items[0].Start, End: b.Items[len(b.Items)-1].End})
		for _, e := range slices.Concat(b.OrderBy, b.GroupBy) {
			values = append(values, e.Span)
		}
	}
	return !slices.ContainsFunc(r.edits, func(e edit) bool { return !within(e, values...) })
}

// mayFailObserved reports whether the query may raise an error for base values that it would not raise for totals.
// Where counters decide which rows there are, that may be any expression, otherwise one with a counter in it.
func (r *reader) mayFailObserved(st *ast.Statement, all bool) bool {
	may := false
	readsColumn := func(e *ast.Expr) bool {
		return all || slices.ContainsFunc(r.edits, func(x edit) bool { return x.Start >= e.Start && x.End <= e.End })
	}
	check := func(lists ...[]*ast.Expr) {
		for _, list := range lists {
			for _, e := range list {
				may = may || e != nil && readsColumn(e) && !valuedAlways(e)
			}
		}
	}
	v := ast.Visitor{
		Query: func(q *ast.Select) {
			for _, it := range q.Items {
				check([]*ast.Expr{it.Expr})
			}
			check(q.Values...)
			check(q.DistinctOn, []*ast.Expr{q.Where, q.Having}, q.GroupBy, q.Windows, q.OrderBy)
			for _, e := range q.Limit { // a negative one is an error
				may = may || readsColumn(e) && !namesOnly(e, func([]ast.Ident) bool { return false }, nil)
			}
		},
		Source: func(s *ast.Source) { check([]*ast.Expr{s.Func, s.On}) },
	}
	v.Walk(st)
	return may
}

// valuedAlways is cannotFail with what queries compute of many rows, and queries for one value that always have one.
func valuedAlways(e *ast.Expr) bool {
	x := ast.Unparen(e)
	switch {
	case x.Kind == ast.In:
		return !slices.ContainsFunc(x.Args, func(a *ast.Expr) bool { return a.Kind != ast.Subquery && !valuedAlways(a) })
	case x.Kind == ast.Call && alwaysValued[x.Op]:
		return !slices.ContainsFunc(x.Args, func(a *ast.Expr) bool { return !valuedAlways(a) })
	case x.Kind == ast.Subquery:
		return x.Op != "" || ofOneRow(x.Query) // its own expressions are looked at by themselves
	case x.Kind == ast.Binary && (x.Op == "AND" || x.Op == "OR" || comparison[x.Op]), x.Kind == ast.Unary && x.Op == "NOT":
		return !slices.ContainsFunc(x.Args, func(a *ast.Expr) bool { return !valuedAlways(a) })
	}
	return cannotFail(x)
}

// alwaysValued are functions of many rows that have a value whatever the rows are.
var alwaysValued = Names(`count max min sum avg row_number rank dense_rank percent_rank cume_dist coalesce`)

// ofOneRow reports whether a query returns one row at most, because it aggregates.
func ofOneRow(q *ast.Select) bool {
	return q != nil && len(q.Items) == 1 && len(q.GroupBy) == 0 && q.Items[0].Expr != nil && ast.Unparen(q.Items[0].Expr).Aggregate
}

// observedRow writes the form of a query that reads one row by its key, whose column asks for the slots of that row. It
// returns false for any other.
func (r *reader) observedRow(o *Observed, q *ast.Select) bool {
	d, ok := r.p.d.(ObservingDialect)
	if !ok || len(r.p.names.Derived) > 0 || !ofOneTable(q) || r.p.groups(q) || r.p.windowed() { // no column may stand beside aggregates
		return false
	}
	sc := r.p.names.NewScope(nil, nil, q.From)
	b := sc.Bindings[0]
	if !b.Counts || b.Table.IsView || len(b.Table.Counter.Key) == 0 {
		return false
	}
	rows := r.p.keys.fixedRows(sc, b, q.Where)
	if rows == nil || !rows.single {
		return false
	}
	sql, ok := r.p.withColumn([]*ast.Select{q}, d.HasSlots(b.Table, r.p.names.Qualifier(b)))
	if !ok {
		return false
	}
	o.SQL = Whole(sql)
	held, _ := r.p.withColumn([]*ast.Select{q}, d.HeldSlots(b.Table, r.p.names.Qualifier(b)))
	o.Row = &ObservedRow{Held: Whole(held), Key: rows.slotKey(b.Table)}
	return true
}
