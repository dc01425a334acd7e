package rewrite

// A reader walks a query and collects the edits that turn counters into
// totals. The text between the edits stays as it is.
type reader struct {
	*planning
	values readValues
	edits  []edit
	tables []*Table // counter tables whose counters are read
	stars  []*Table // counter tables whose * is written out
	seen   []*Table // counter tables that occur as a source
	found  findings
	tested *Expr // the column that the IS NULL which is being read asks about
	// aggregates counts those whose argument is a query that is being read.
	aggregates int

	reason string // why a derived table stands for a counter table
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
	if hintOf(p.src.text) == hintBase {
		return &reader{planning: p, values: baseValues}
	}
	return &reader{planning: p, values: asConfigured}
}

// findings are what a statement has been found to do with counter tables.
type findings struct {
	counter  bool // it reads a counter, and not only companions
	locks    bool // a block that reads a counter table locks rows
	writes   bool // a data-modifying CTE writes a counter table's counters
	wholeRow bool // a row as a whole is replaced
	merged   bool // MariaDB merges a derived form into a block that groups
	truth    bool // a comparison with ANY or ALL is more than a condition, see quantified
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
func (p *planning) planSelect(st *Statement) *Plan {
	tables := p.mentioned()
	if st.Opaque != "" || st.Select == nil {
		return p.drainAll(tables, opaqueReason(st))
	}
	r, err := p.reading(
		p.queryReader,
		func(r *reader) error { return r.query(nil, st.Select) })
	switch {
	case err != nil:
		return p.drainSelect(st, tables, reasonOf(err))
	case r.found.locks:
		return p.drainSelect(st, r.seen, "the query locks rows of a counter table")
	case len(r.edits) == 0:
		class := PassThrough
		if r.found.writes {
			class = AdditiveBase
		}
		return &Plan{Class: class}
	case r.found.writes:
		return p.drainAll(tables, "a WITH query increments a counter that the statement also reads")
	}
	plan := &Plan{Class: Read, Reason: r.reason, Tables: names(r.tables), Text: p.src.apply(r.edits), Stars: r.stars, Anew: r.found.merged}
	p.faster(st, r, plan)
	if st.Kind == KindSelect && !st.Select.Into && p.d.Traits().ShapeQuery {
		plan.Shape = p.shape(st.Select)
		plan.Judged = r.reason != "" || p.tableWord
		plan.InPlace = plan.Reason == "" // of faster, and of what is derived
	}
	return plan
}

// faster has a query use the counter's index or sum the slots up once, where
// it has the form for that.
func (p *planning) faster(st *Statement, r *reader, plan *Plan) {
	if st.Select.Into {
		return // INTO stands where these have no place for it
	}
	if r.found.wholeRow || len(p.derived) > 0 || st.Select.Table {
		return // these know of counters that are replaced in their place only
	}
	b, why, ok := p.split(st, r.edits)
	if !ok {
		if b, ok = p.sums(st, r.edits); ok {
			why = "a sum over the table: base values and slots are summed separately"
		}
	}
	if !ok {
		return
	}
	plan.Text, plan.TextArgs, plan.Reason = b.SQL, b.Args, why
	if plan.TextArgs == nil {
		plan.TextArgs = []Arg{}
	}
}

func opaqueReason(st *Statement) string {
	if st.Opaque != "" {
		return st.Opaque
	}
	return "the statement has a form that slotsql does not analyze"
}

func (r *reader) ctes(sc *scope, with []*CTE) error {
	for _, c := range with {
		if c.Statement != nil {
			if err := r.cteStatement(sc, c.Statement); err != nil {
				return err
			}
			continue
		}
		if c.Select == nil {
			return opaque("a WITH query has a form that slotsql does not analyze")
		}
		if err := r.cteQuery(sc, c); err != nil {
			return err
		}
	}
	return nil
}

// cteQuery looks into a WITH query. MariaDB puts it where it is named, so that
// one which is named inside an aggregate is read as if it stood there.
func (r *reader) cteQuery(sc *scope, c *CTE) error {
	outer := r.aggregates
	r.aggregates = 0
	if r.inside[c] {
		r.aggregates = 1
	}
	err := r.query(r.cteScope(sc, c), c.Select)
	r.aggregates = outer
	return err
}

// nameInside notes a WITH query that is named inside an aggregate, and has the
// statement be read again.
func (r *reader) nameInside(sc *scope, s *Source) error {
	c := r.findCTE(sc, s.Name)
	if c == nil || r.aggregates == 0 || !r.d.Traits().StrictGroups || r.inside[c.cte] {
		return nil
	}
	if r.inside == nil {
		r.inside = map[*CTE]bool{}
	}
	r.inside[c.cte] = true
	return &errDerive{reason: "a WITH query is named in a subquery inside an aggregate"}
}

// cteStatement looks into a data-modifying CTE. One that only increments runs
// as it is; one that does anything else to a counter table cannot.
func (r *reader) cteStatement(sc *scope, st *Statement) error {
	if st.Opaque != "" {
		return opaque(st.Opaque)
	}
	outer := r.outer
	r.outer = sc
	plan := r.planDML(st)
	r.outer = outer
	for i := range plan.Changes {
		r.within(plan.Changes[i].Table)
	}
	if plan.Increment != nil {
		r.within(plan.Increment.Table)
	}
	switch plan.Class {
	case PassThrough:
	case Read:
		// It writes another table, and sees what the whole statement sees: its
		// totals are spliced into its part of the text.
		r.edits = append(r.edits, plan.reads.edits...)
		r.stars = append(r.stars, plan.reads.stars...)
		for _, t := range plan.reads.tables {
			r.note(t)
		}
		if r.reason == "" {
			r.reason = plan.reads.reason
		}
	case Additive, AdditiveBase, Upsert:
		if !plan.baseExact() {
			return opaque("a WITH query changes a counter whose range or CHECK must be checked")
		}
		r.found.writes = true
	default:
		return opaque("a WITH query reads or sets a counter: " + plan.Reason)
	}
	return nil
}

func (r *reader) query(parent *scope, q *Select) error {
	if q == nil {
		return nil
	}
	sc := r.withScope(parent, q.With)
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
		if len(r.edits) > before && q != r.main && r.d.Traits().FullJoins && (r.src.hasWord("FULL") || r.src.hasWord("RIGHT")) {
			return opaque("a set operation inside a query, beside a FULL or RIGHT JOIN: SQLite may lose a condition that reads a counter")
		}
		return r.setOrder(sc, q)
	}
	return r.block(sc, q)
}

// setOrder handles ORDER BY of a set operation: it can only name result
// columns, which are totals already; a subquery in it is looked into.
func (r *reader) setOrder(sc *scope, q *Select) error {
	for _, list := range [][]*Expr{q.OrderBy, q.Limit} {
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

func (r *reader) block(parent *scope, q *Select) error {
	sc := r.newScope(parent, nil, q.From)
	sc.grouped, sc.block = r.groups(q), q
	for _, f := range q.From {
		if err := r.source(sc, parent, f); err != nil {
			return err
		}
	}
	counts := false
	for _, b := range sc.bindings {
		if b.counts || b.derived {
			counts = true
			r.addSeen(b.table)
		}
	}
	if q.Lock && (counts || len(r.seen) > 0) {
		r.found.locks = true
	}
	if q.Table && len(q.Items) == 0 && counts {
		return opaque("IN names a counter table")
	}
	b := blockReader{r, sc, q}
	for _, it := range q.Items {
		if err := b.item(it); err != nil {
			return err
		}
	}
	for _, row := range q.Values {
		for _, e := range row {
			if err := b.listed(e, inItems); err != nil {
				return err
			}
		}
	}
	type list struct {
		exprs []*Expr
		in    clause
	}
	for _, l := range []list{
		{q.DistinctOn, inOrder}, {[]*Expr{q.Where}, inPredicate}, {q.GroupBy, inGroup},
		{[]*Expr{q.Having}, inHaving}, {q.Windows, inItems}, {q.OrderBy, inOrder}, {q.Limit, inItems},
	} {
		for _, e := range l.exprs {
			if l.in == inGroup && b.byPosition(e) {
				continue
			}
			if err := b.expr(e, l.in); err != nil {
				return err
			}
		}
	}
	return b.byKey()
}

func (r *reader) addSeen(t *Table) {
	if !has(r.seen, t) {
		r.seen = append(r.seen, t)
	}
}

// source looks into a FROM entry. A derived table sees the enclosing scope,
// and its siblings only when LATERAL.
func (r *reader) source(sc, parent *scope, s *Source) error {
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
			if err := derivable("a join that holds a counter table has an alias", sc.under(s)...); derives(err) {
				return err
			}
		}
		if s.Natural || len(s.Using) > 0 {
			if err := r.merged(sc, s); err != nil {
				return err
			}
		}
		return (&blockReader{r, sc, nil}).expr(s.On, inPredicate)
	case s.Select != nil:
		if s.Lateral {
			return r.query(sc, s.Select)
		}
		return r.query(parent, s.Select)
	case s.Func != nil:
		return (&blockReader{r, sc, nil}).expr(s.Func, inItems)
	case len(s.Name) > 0:
		r.derivedSource(sc, s)
		return r.nameInside(sc, s)
	}
	return nil
}

// merged refuses joins that compare counters without naming them in the text.
// A query's columns are totals already. What a NATURAL join compares is left
// to the engine: another program may add a column of that name at any time.
func (r *reader) merged(sc *scope, s *Source) error {
	for _, b := range sc.bindings {
		if !b.counts {
			continue
		}
		if s.Natural {
			return derivable("a NATURAL join may compare a counter", sc.bindings...)
		}
		for _, u := range s.Using {
			t, err := r.columnOf(b, u)
			if err != nil {
				return err
			}
			if t != nil {
				return derivable("counter "+u.Name+" is a column of USING", b)
			}
		}
	}
	return nil
}

// A blockReader edits the expressions of one SELECT block.
type blockReader struct {
	*reader
	sc *scope
	q  *Select // nil outside a block (ON, DML)
}

// readsBase says whether a table's counters are read as they stand in the base
// table: the application asked for it, and the statement is a query.
func (r *reader) readsBase(t *Table) bool {
	return r.values == baseValues || r.values == asConfigured && t.Counter.Reads == ReadsBase
}

func (r *reader) note(t *Table) {
	if !has(r.tables, t) {
		r.tables = append(r.tables, t)
	}
}

// expr edits one expression.
func (b *blockReader) expr(e *Expr, in clause) error {
	if e == nil {
		return nil
	}
	if in == inGroup && e.Kind == ColumnRef && len(e.Name) == 1 && b.d.Traits().HavingAlias {
		// Of two result columns of the name MySQL takes the first, or the one
		// that is a table's column and no expression.
		if edited, derived := b.twice(e.Name[0]); edited || derived {
			return opaque("two result columns are named " + e.Name[0].Name)
		}
	}
	if skip, err := b.outputName(e, in, true); skip || err != nil {
		return err
	}
	return b.walk(e, in, false)
}

func (b *blockReader) walk(e *Expr, in clause, aggregate bool) error {
	switch e.Kind {
	case ColumnRef:
		return b.column(e, in, aggregate)
	case Star:
		return b.starArgument(e)
	case Subquery:
		if aggregate {
			b.aggregates++
			defer func() { b.aggregates-- }()
		}
		if err := b.query(b.sc, e.Query); err != nil {
			return err
		}
	}
	if x := nullTest(e); x != nil && in == inPredicate {
		b.tested = x
	}
	b.found.truth = b.found.truth || in != inPredicate && quantified(e) && !(in == inHaving && b.q != nil && decides(b.q.Having, e))
	for i, a := range e.Args {
		if a != nil && a.Kind == Star && e.Op == "row" && e.Kind == Opaque {
			if err := b.listed(a, in); err != nil {
				return err
			}
			continue
		}
		before := len(b.edits)
		if err := b.walk(a, in, aggregate || e.Aggregate); err != nil {
			return err
		}
		if a != nil && a.Label != nil && len(b.edits) > before {
			b.edits = append(b.edits, edit{Span{a.Label.At, a.Label.At}, " AS " + b.d.Quote(a.Label.Name)})
		}
		if i == 0 && isRow(a) && len(e.Args) == 2 && e.Args[1].Kind == Subquery && b.d.Traits().PlainRows &&
			(len(b.edits) > before || b.merges()) {
			return b.rowApart(a)
		}
	}
	return nil
}

//nolint:funlen // a list of rules, each with its reason
func (b *blockReader) column(e *Expr, in clause, aggregate bool) error {
	if done, err := b.throughDerived(e); done || err != nil {
		return err
	}
	if done, err := b.field(e); done || err != nil {
		return err
	}
	t, err := b.resolve(b.sc, e.Name)
	if err != nil {
		return err
	}
	if t == nil && len(e.Name) == 1 {
		// No counter; but it may be the name of a result column that is one.
		if skip, err := b.outputName(e, in, false); skip || err != nil {
			return err
		}
		return b.systemColumn(e.Name[0])
	}
	if t != nil && t.whole {
		if t.binding.counts && b.q != nil && len(b.q.GroupBy) > 0 && b.groupingSets() {
			return derivable("grouping sets over a counter", t.binding)
		}
		return b.wholeRow(e, t.binding)
	}
	if t == nil || t.column == nil || b.readsBase(t.binding.table) || e == b.tested && b.nullAsBase(t) {
		return nil
	}
	if skip, err := b.outputName(e, in, false); skip || err != nil {
		return err
	}
	if t.binding.table.Companion(t.column.Name) != nil {
		if err := b.companion(t.binding, b.bareItem(e)); err != nil {
			return err
		}
	}
	switch {
	case aggregate && !b.sc.holds(t.binding):
		// Such an aggregate is the outer query's; a subquery inside it could
		// make it this one's.
		return derivable("an aggregate over an outer query's counter", t.binding)
	case in == inHaving && !aggregate && b.d.Traits().HavingAlias:
		return derivable("HAVING names a counter that is neither aggregated nor selected", t.binding)
	case !aggregate && b.q != nil && len(b.q.GroupBy) > 0 && b.groupingSets():
		// Which of the expressions are the grouped one, and NULL in the rows
		// that sum up, the engines decide in ways of their own.
		return derivable("grouping sets over a counter", t.binding)
	case in == inGroup && b.d.Traits().HavingAlias:
		// Under ONLY_FULL_GROUP_BY a column that is selected has to be one that
		// is grouped by; an expression is no column.
		return derivable("GROUP BY names a counter", t.binding)
	}
	if b.d.Traits().StrictGroups {
		switch {
		case in != inPredicate && t.binding.scope.grouped && !(aggregate && b.sc.holds(t.binding)):
			// The total depends on the key, which is not grouped by: under
			// ONLY_FULL_GROUP_BY the engine refuses it even where the counter is.
			return derivable("rows are grouped, and a counter is named outside of aggregates", t.binding)
		case b.aggregates > 0:
			// MariaDB takes the sum of the slots for an aggregate of the block,
			// if the subquery has aggregates of its own.
			return derivable("a counter is named in a subquery inside an aggregate", t.binding)
		case len(e.Name) == 1 && b.windowed() && b.isAlias(e.Name[0]) && !b.bareItem(e):
			// MariaDB finds names of result columns in ORDER BY and PARTITION BY
			// of windows.
			return derivable("alias "+e.Name[0].Name+" may hide the counter of that name in a window", t.binding)
		}
	}
	b.found.counter = b.found.counter || t.binding.table.IsCounter(t.column.Name)
	b.note(t.binding.table)
	total := b.d.Total(t.binding.table, b.qualifier(t.binding), t.column.Name, true)
	if in == inItems && b.bareItem(e) {
		total = b.resultColumn(t.binding.table, b.qualifier(t.binding), t.column.Name, b.q)
	}
	b.edits = append(b.edits, edit{e.Span, total})
	return nil
}

// subqueries looks only into the subqueries of an expression.
func (r *reader) subqueries(sc *scope, e *Expr) error {
	var err error
	e.Walk(func(x *Expr) bool {
		if err == nil && x.Kind == Subquery {
			err = r.query(sc, x.Query)
		}
		return err == nil
	})
	return err
}
