package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A reader walks a query and collects the edits that turn counters into
// totals. The statement between the edits stays as it is.
type reader struct {
	p          *planning
	values     readValues
	edits      []edit
	tables     []*schema.Table // counter tables whose counters are read
	stars      []*schema.Table // counter tables whose * is written out
	seen       []*schema.Table // counter tables that occur as a source
	found      findings
	nullTested *ast.Expr // the column that the IS NULL which is being read asks about
	// aggregates counts those whose argument is a query that is being read.
	aggregates int

	outward  int                       // counters of a block around the one that names them
	replaced map[ast.Span]*names.Scope // of which the totals are that an edit writes
	wide     *names.Scope              // of the statement's query, if it reads the totals of many rows
	many     bool                      // another block reads those of many rows, see fewrows.go
	narrowed bool                      // candidates are named

	reason string // what stands for counters beside their totals, and why
}

// queryState is what all readers of a statement share.
type queryState struct {
	tableWord bool        // TABLE name has become a SELECT
	top       *ast.Select // the block that names the columns of the statement's query
	windows   windowFunctions
}

// readValues is which value of a counter a statement is to see.
type readValues int

const (
	// totals: of every table. What a statement computes to store is exact.
	totals readValues = iota
	// asConfigured: the totals, but base values of tables with reads: base.
	asConfigured
	// baseValues: of all tables, by the hint.
	baseValues
)

// queryReader reads a query whose rows go to the application.
func (p *planning) queryReader() *reader {
	if lex.HintOf(p.src.sql) == lex.HintBase {
		return &reader{p: p, values: baseValues}
	}
	return &reader{p: p, values: asConfigured}
}

// total writes the total of a counter. A statement that writes may lock what it reads: its totals
// then look at the slots of its own rows, and never at those of the whole table.
func (r *reader) total(t *schema.Table, qualifier, column string, comparable bool) string {
	stored := r.values == totals && r.p.d.Traits().LocksReads
	return r.p.d.Total(t, qualifier, column, comparable && !stored)
}

// findings are what a statement has been found to do with counter tables. They are facts
// that are only ever added to, in whatever order the reader meets them; none excludes another.
type findings struct {
	counter bool // it reads a counter, and not only companions
	locks   bool // a block that reads a counter table locks rows
	writes  bool // a data-modifying CTE writes a counter table's counters
	truth   bool // a comparison with ANY or ALL is more than a condition, see quantified
}

// clause says where in a block an expression stands.
type clause int

const (
	inItems clause = iota
	inPredicate
	inOrder
	inGroup
	inHaving
)

// planSelect plans a query: read as it is, with totals, or drained.
func (p *planning) planSelect(st *ast.Statement) *Plan {
	tables := p.mentions.tables()
	if st.Opaque != "" || st.Select == nil {
		return p.drains.drainAll(tables, opaqueReason(st))
	}
	r, err := p.reading(
		p.queryReader,
		func(r *reader) error { return r.query(nil, st.Select) })
	switch {
	case err != nil:
		return p.drainObserved(st, tables, names.Reason(err))
	case r.found.locks && r.locksOnly():
		return p.drains.lockedRows(st, r.seen)
	case r.found.locks:
		return p.drains.drainSelect(st, r.seen, locksRows)
	case len(r.edits) == 0:
		class := PassThrough
		if r.found.writes {
			class = AdditiveBase
		}
		return &Plan{Class: class}
	case r.found.writes:
		return p.drains.drainAll(tables, "a WITH query increments a counter that the statement also reads")
	}
	plan := &Plan{Class: Read, Reason: r.reason, Tables: tableNames(r.tables)}
	plan.Read = ReadPlan{Stars: r.stars}
	plan.Read.Observed = p.observed(st, r.tables, r)
	if r.wide != nil && !r.sums(r.wide, st.Select) && !r.narrow(r.wide, st.Select) {
		r.many = true
	}
	plan.Reason, plan.Read.FoldFirst = r.form(), r.many
	plan.SQL, plan.Read.Args = r.written()
	if st.Kind == ast.KindSelect && !st.Select.Into && p.d.Traits().TotalsChangeTypes {
		b := p.typesQuery(st.Select)
		if b == nil {
			return p.drainObserved(st, tables, "cannot tell where the query's LIMIT is")
		}
		plan.Read.Types = &TypesQuery{
			Bound:   *b,
			Checks:  r.reason != "" || p.queries.tableWord,
			InPlace: plan.Reason == "",
			Named:   namedByArgument(p.src, st),
		}
	}
	return plan
}

// drainObserved drains for a query, if observing it shows that there are slots.
func (p *planning) drainObserved(st *ast.Statement, tables []*schema.Table, reason string) *Plan {
	plan := p.drains.drainSelect(st, tables, reason)
	plan.Read.Observed = p.observed(st, tables, nil)
	plan.Read.FoldFirst = plan.Read.Observed != nil && plan.DrainScope() != ScopeKey
	return plan
}

// form says what stands for counters, where it is more than their totals.
func (r *reader) form() string {
	if r.reason == "" && r.narrowed {
		return "candidates for a counter's order or range are named by key"
	}
	return r.reason
}

// written returns the statement with the reader's edits, and the arguments that it
// then takes: nil for its own.
func (r *reader) written() (string, []Arg) {
	if !slices.ContainsFunc(r.edits, func(e edit) bool { return strings.Contains(e.sql, markerByte) }) {
		return r.p.src.apply(r.edits), nil
	}
	sql := r.p.tp.mark(r.p.src.cutEdited(ast.Span{Start: 0, End: len(r.p.src.sql)}, r.edits))
	b := r.p.tp.expand(r.p.d, r.p.tp.expandSQL(sql))
	if b.Args == nil {
		b.Args = []Arg{}
	}
	return b.SQL.same, b.Args
}

func opaqueReason(st *ast.Statement) string {
	if st.Opaque != "" {
		return st.Opaque
	}
	return "the statement has a form that slotsql does not analyze"
}

func (r *reader) query(parent *names.Scope, q *ast.Select) error {
	if q == nil {
		return nil
	}
	sc := r.p.names.WithScope(parent, q.With)
	if err := r.ctes(sc, q.With); err != nil {
		return err
	}
	if len(q.Operands) > 0 {
		before := len(r.edits)
		for _, op := range q.Operands {
			if err := r.query(sc, op); err != nil {
				return err
			}
		}
		joins := r.p.src.hasWord("FULL") || r.p.src.hasWord("RIGHT")
		if len(r.edits) > before && q != r.p.main() && r.p.d.Traits().Defects.Has(FullJoinFilter) && joins {
			return names.Opaque("a set operation inside a query, beside a FULL or RIGHT JOIN: SQLite may lose a condition that reads a counter")
		}
		return r.setOrder(sc, q)
	}
	return r.block(sc, q)
}

// setOrder handles ORDER BY of a set operation: it can only name result
// columns, which are totals already; a subquery in it is looked into.
func (r *reader) setOrder(sc *names.Scope, q *ast.Select) error {
	for _, list := range [][]*ast.Expr{q.OrderBy, q.Limit} {
		for _, e := range list {
			if err := r.subqueries(sc, e); err != nil {
				return err
			}
		}
	}
	if q.Lock && len(r.seen) > 0 {
		r.found.locks = true
	}
	return nil
}

func (r *reader) block(parent *names.Scope, q *ast.Select) error {
	sc := r.p.names.NewScope(parent, nil, q.From)
	sc.Grouped, sc.Block = r.p.groups(q), q
	for _, f := range q.From {
		if err := r.source(sc, parent, f); err != nil {
			return err
		}
	}
	counts := false
	for _, b := range sc.Bindings {
		if b.Counts || b.Derived {
			counts = true
			r.addSeen(b.Table)
		}
	}
	if q.Lock && (counts || len(r.seen) > 0) {
		r.found.locks = true
	}
	if q.Table && len(q.Items) == 0 && counts {
		return names.Opaque("IN names a counter table")
	}
	b := r.in(sc, q)
	for _, it := range q.Items {
		if err := b.item(it); err != nil {
			return err
		}
	}
	for _, row := range q.Values {
		for _, e := range row {
			if err := b.expr(e, inItems); err != nil {
				return err
			}
		}
	}
	type list struct {
		exprs []*ast.Expr
		in    clause
	}
	for _, l := range []list{
		{q.DistinctOn, inOrder}, {[]*ast.Expr{q.Where}, inPredicate}, {q.GroupBy, inGroup},
		{[]*ast.Expr{q.Having}, inHaving}, {q.Windows, inItems}, {q.OrderBy, inOrder}, {q.Limit, inItems},
	} {
		for _, e := range l.exprs {
			if l.in == inGroup && b.computesDerived(e) {
				return names.Opaque("rows are grouped by what is computed from a counter")
			}
			sc.Ordering = q.Distinct && l.in == inOrder
			if err := b.expr(e, l.in); err != nil {
				return err
			}
		}
	}
	sc.Ordering = false
	if err := b.byKey(); err != nil {
		return err
	}
	r.noteMany(sc, q)
	return nil
}

func (r *reader) addSeen(t *schema.Table) {
	if !slices.Contains(r.seen, t) {
		r.seen = append(r.seen, t)
	}
}

// source looks into a FROM entry. A derived table sees the enclosing scope,
// and its siblings only when LATERAL.
func (r *reader) source(sc, parent *names.Scope, s *ast.Source) error {
	switch {
	case s == nil:
		return nil
	case s.Left != nil || s.Right != nil:
		if err := r.source(sc, parent, s.Left); err != nil {
			return err
		}
		if err := r.source(sc, parent, s.Right); err != nil {
			return err
		}
		if s.Alias != nil {
			// Its columns are the join's: names do not say whose they are.
			if err := names.Derivable("a join that holds a counter table has an alias", sc.Under(s)...); names.Derives(err) {
				return err
			}
		}
		if s.Natural || len(s.Using) > 0 {
			if err := r.merged(sc, s); err != nil {
				return err
			}
		}
		return r.in(sc, nil).expr(s.On, inPredicate)
	case s.Select != nil:
		if s.Lateral {
			return r.query(sc, s.Select)
		}
		return r.query(parent, s.Select)
	case s.Func != nil:
		return r.in(sc, nil).expr(s.Func, inItems)
	case len(s.Name) > 0:
		r.derivedSource(sc, s)
		return r.nameInside(sc, s)
	}
	return nil
}

// merged refuses joins that compare counters without naming them in the statement.
// A query's columns are totals already. What a NATURAL join compares is left
// to the engine: another program may add a column of that name at any time.
func (r *reader) merged(sc *names.Scope, s *ast.Source) error {
	for _, b := range sc.Bindings {
		if !b.Counts {
			continue
		}
		if s.Natural {
			return names.Derivable("a NATURAL join may compare a counter", sc.Bindings...)
		}
		for _, u := range s.Using {
			t, err := r.p.names.ColumnOf(b, u)
			if err != nil {
				return err
			}
			if t != nil {
				return names.Derivable("counter "+u.Name+" is a column of USING", b)
			}
		}
	}
	return nil
}

// readsBase reports whether a table's counters are read as they stand in the base
// table: the application asked for it, and the statement is a query.
func (r *reader) readsBase(t *schema.Table) bool {
	return r.values == baseValues || r.values == asConfigured && t.Counter.Options.Reads == schema.ReadsBase
}

// replace writes totals of sources of a scope in the place of what names them.
func (r *reader) replace(sp ast.Span, totals string, sources *names.Scope) {
	if r.replaced == nil {
		r.replaced = map[ast.Span]*names.Scope{}
	}
	r.replaced[sp] = sources
	r.edits = append(r.edits, edit{sp, totals})
}

func (r *reader) note(t *schema.Table) {
	if !slices.Contains(r.tables, t) {
		r.tables = append(r.tables, t)
	}
}
