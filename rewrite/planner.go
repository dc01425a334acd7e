package rewrite

import (
	"sort"
	"strings"
)

// Catalog is how the planner looks up tables.
type Catalog interface {
	// Lookup returns the table that a name in a statement refers to. A nil table with
	// known true means that there is none. If known is false, the table has not been
	// looked up yet, and the plan is returned as a *MissingError.
	Lookup(name []Ident) (t *Table, known bool)
	// Counters returns the counter tables.
	Counters() []*Table
}

// MissingError says which tables have to be looked up before a statement can be
// planned.
type MissingError struct{ Names [][]Ident }

func (e *MissingError) Error() string { return "tables not yet known to the catalog" }

// Planner makes plans. It is safe for concurrent use when its catalog is.
type Planner struct {
	Dialect Dialect
	Catalog Catalog

	marks *marks // what stands for literals that are unknown; nil where all are known
}

// maxPlanned bounds the SQL that is parsed; a longer one that may
// concern a counter table is drained for.
const maxPlanned = 1 << 20

// Plan decides what to do for the SQL of one call. It returns an error only when the
// catalog lacks tables (a *MissingError).
func (pl *Planner) Plan(sql string) (*Plan, error) {
	named := pl.narrowed(sql)
	if named == nil {
		return (&Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql)}).controls(pl.Dialect.Lexis()), nil
	}
	plan, err := named.plan(sql)
	if err == nil {
		plan, err = named.withGroup(plan, sql)
	}
	if err == nil {
		plan, err = named.withTickets(plan, sql)
	}
	if err != nil {
		return nil, err
	}
	if plan.Group != nil {
		plan.Group.Alike = Whole(withoutGaps(pl.Dialect.Lexis(), plan.Group.SQL.same))
	}
	plan.Read.reader = nil // which would keep all that the planner has made
	return plan.controls(pl.Dialect.Lexis()), nil
}

func (pl *Planner) plan(sql string) (*Plan, error) {
	if !pl.Mentions(sql) {
		return &Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql)}, nil
	}
	if hintOf(sql) == hintOff {
		return &Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql), Reason: "the statement begins with slotsql: off"}, nil
	}
	if len(sql) > maxPlanned {
		return pl.large(sql)
	}
	tokens, exec := scan(pl.Dialect.Lexis(), sql)
	spans := split(sql, tokens, exec)
	if len(spans) <= 1 {
		return pl.single(sql, tokens, spans)
	}
	return pl.multi(sql, tokens, spans)
}

func (pl *Planner) effects(sql string) Effect {
	body := strings.TrimRight(sql, "; \t\r\n")
	if strings.IndexByte(body, ';') < 0 {
		sc := NewScanner(pl.Dialect.Lexis(), sql)
		t := sc.Next()
		if !sc.Exec && (t.Kind == Word || t.Kind == EOF) {
			second := sc.Next()
			return pl.effectsOf(sql, []Token{t, second})
		}
		return TxControl | Namespace
	}
	if len(sql) > maxPlanned {
		return TxControl | Namespace | SchemaChange
	}
	return pl.effectsOf(sql, Tokens(pl.Dialect.Lexis(), sql))
}

// planning is the work on one statement.
type planning struct {
	*Planner
	d         Dialect
	src       *source
	missing   [][]Ident
	outs      map[*Select]outColumns
	derived   map[*Source]string // by a query of totals, and why
	separate  map[*Source]bool   // those that are not to be merged
	inside    map[*CTE]bool      // named by a subquery inside an aggregate
	tableWord bool               // TABLE name has become a SELECT
	main      *Select            // the statement's query
	top       *Select            // the block that names the columns of the statement's query
	windows   windowFunctions
	outer     *scope // what a data-modifying CTE stands in

	changedWithin []*Table // by data-modifying CTEs

	tp template // what edits repeat of the statement, with its arguments

	work int // names compared so far, about
}

// maxWork bounds planning: what names mean takes time in the product of names
// and sources. No statement written by hand comes near.
const (
	maxWork     = 2_000_000
	tooMuchWork = "the statement has too many names and sources"
)

func (pl *Planner) single(sql string, tokens []Token, spans []Span) (*Plan, error) {
	if len(spans) == 0 {
		return &Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql)}, nil
	}
	body := sql[:spans[0].End]
	p := &planning{Planner: pl, d: pl.Dialect, src: newSource(pl.Dialect.Lexis(), body)}
	plan := p.plan()
	if p.work > maxWork && plan.Class != Drain && plan.Class != Refused {
		plan = p.drainAll(p.mentioned(), tooMuchWork)
	}
	if len(p.missing) > 0 {
		return nil, &MissingError{p.missing}
	}
	if plan.SQL == "" {
		plan.SQL = sql
	} else {
		plan.SQL += sql[len(body):]
	}
	if plan.Drain.Proof != nil {
		plan.Drain.Proof.SQL.same += sql[len(body):]
	}
	if plan.Drain.LockingRead != nil {
		plan.Drain.LockingRead.SQL.same += sql[len(body):]
	}
	if plan.Class != Drain && plan.Class != Refused {
		plan = p.changedAll(plan, p.changedWithin)
	}
	plan.Effects |= pl.effectsOf(sql, tokens)
	if p.src.bad && pl.Dialect.Lexis().Foreign {
		plan.Effects |= anyEffect(sql) // the server may read what the scanner cannot
	}
	plan.Drain.Repeats = plan.Class == Drain && p.repeats(plan)
	plan.Drain.Inside = plan.Class == Drain && (p.src.is(0, "LOCK") || p.src.is(0, "DECLARE") && !p.src.hasWord("HOLD"))
	plan.Touched = p.mentioned()
	plan.Inputs = p.src.inputs()
	return plan, nil
}

// multi plans several statements in one call. When every one of them runs as it
// is, so does the whole; otherwise they are run one by one.
func (pl *Planner) multi(sql string, tokens []Token, spans []Span) (*Plan, error) {
	out := &Plan{Class: Multi, SQL: sql, Effects: pl.effectsOf(sql, tokens)}
	asIs, base := true, 0
	missing := &MissingError{}
	for _, sp := range spans {
		part := sql[sp.Start:sp.End]
		plan, err := pl.Plan(part)
		if m, ok := err.(*MissingError); ok {
			missing.Names = append(missing.Names, m.Names...)
			continue
		}
		src := newSource(pl.Dialect.Lexis(), part)
		pt := Part{Plan: plan, SQL: part, ArgBase: base, Params: src.inputs()}
		for _, e := range TxEvents(pl.Dialect.Lexis(), part) {
			pt.TxBegin, pt.TxEnd = e.Kind == TxBegins, e.Kind == TxEnds
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

// changesReading reports whether a part may change the rules by which the parts
// after it are read, so that they have to be planned when it has run.
func changesReading(plan *Plan, part string) bool {
	return plan.Effects&SessionChange != 0 &&
		(containsFold(part, "sql_mode") || containsFold(part, "charset") || containsFold(part, "character") || containsFold(part, "names"))
}

func appendNew(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}

// Rejected begins the reason of a statement that the dialect's parser does not
// take; behind a colon follow the parser's own words, which may quote the
// statement.
const Rejected = "the parser rejects the statement"

//nolint:funlen // one case for each kind of statement
func (p *planning) plan() *Plan {
	src := p.src
	mentioned := p.mentioned()
	if held := p.named(p.holders()); len(held) > 0 {
		if pl := p.planHeld(held); len(mentioned) == 0 || pl.Class == Refused {
			return pl
		}
	}
	if len(mentioned) == 0 {
		return &Plan{Class: PassThrough}
	}
	switch {
	case src.bad:
		return p.drainAll(mentioned, "the statement has an unterminated quote or comment, or a character outside SQL")
	case src.exec:
		return p.drainAll(mentioned, "the statement has an executable comment")
	}
	if _, why := p.viewed(); why != "" && !p.sessionOnly() {
		if pl := p.hidden(mentioned); pl != nil {
			return pl
		}
		if pl := p.planAbove(); pl != nil {
			return pl
		}
		return p.planViewed(mentioned, why)
	}
	st, err := p.parse(src.sql)
	if err != nil {
		if name := p.replacedTable(); name != nil {
			return p.planReplaced(name)
		}
		if pl := p.hidden(mentioned); pl != nil {
			return pl
		}
		if p.watchesUpdates() {
			return p.planWatcher(mentioned)
		}
		return p.drainAll(mentioned, Rejected+": "+err.Error())
	}
	if st.Opaque == "" && st.Kind.reads() && p.src.namesOwn() {
		st.Opaque = "a name is one of those that slotsql gives to parts of its own SQL"
	}
	p.main, p.top = st.Select, st.Select
	for p.top != nil && len(p.top.Operands) > 0 {
		p.top = p.top.Operands[0]
	}
	switch st.Kind {
	case KindSession:
		return &Plan{Class: PassThrough}
	case KindSelect:
		return p.narrowDrain(p.planSelect(st), st)
	case KindExplain:
		return p.planExplain(st)
	case KindReads:
		return p.planReader(st)
	case KindCreateSelect:
		return p.planCreateSelect(st)
	case KindInsert:
		return p.readsBesides(p.narrowDrain(p.planUpsertGroup(p.planInsert(st), st), st), st)
	case KindUpdate:
		return p.readsBesides(p.narrowDrain(p.planGroup(p.planUpdate(st), st), st), st)
	case KindDelete:
		return p.narrowDrain(p.planDelete(st), st)
	case KindTruncate, KindDrop, KindDDL:
		return p.planDDL(st)
	}
	if pl := p.hidden(mentioned); pl != nil {
		return pl
	}
	switch {
	case p.src.is(0, "CREATE"):
		return p.drainAll(mentioned, "a materialized view stores its query unchanged, and its rows must be totals")
	case p.src.is(0, "CALL"):
		return p.drainAll(mentioned, "a procedure may do anything with the tables that its call names")
	}
	if st.Merge && st.Opaque == "" {
		// A row that it inserts has no slots, and one that others have inserted is found by key.
		sc := p.newScope(p.outer, nil, append([]*Source{st.Target}, st.From...))
		return p.drainRows(st, sc, sc.bindings[0], st.Where, true, "there is no faster plan for MERGE")
	}
	return p.drainAll(mentioned, "there is no faster plan for this kind of statement")
}

// hidden refuses what a drain cannot make right: SQL-level PREPARE, whose
// EXECUTE names no table, and LOCK TABLES.
func (p *planning) hidden(mentioned []*Table) *Plan {
	if p.src.is(0, "PREPARE") && !p.src.is(1, "TRANSACTION") {
		return &Plan{Class: Refused, Tables: names(mentioned),
			Reason: "SQL-level PREPARE hides its statement from slotsql; prepare it through database/sql (db.Prepare)"}
	}
	if p.d.Traits().Compound && p.compound() && (p.src.hasWord("COMMIT") || p.src.hasWord("ROLLBACK") || p.src.hasWord("START")) {
		return &Plan{Class: Refused, Tables: names(mentioned),
			Reason: "a compound statement that controls transactions would end the drain halfway; send its statements one by one"}
	}
	if p.d.Traits().LockTables && p.src.is(0, "LOCK") && (p.src.is(1, "TABLES") || p.src.is(1, "TABLE")) {
		return &Plan{Class: Refused, Tables: names(mentioned),
			Reason: "LOCK TABLES locks out the slot tables; use a transaction with SELECT ... FOR UPDATE"}
	}
	return nil
}

// compound reports whether the statement is a compound one, outside of a routine.
func (p *planning) compound() bool {
	return len(p.src.tokens) > 0 && !p.src.is(0, "CREATE") && !p.src.is(0, "ALTER") && !p.src.is(0, "DELIMITER") &&
		wholeStatement(p.src.sql, p.src.tokens, 0)
}

// sessionOnly reports whether the statement is one that reads no table: a
// transaction or a savepoint may be named like a view.
func (p *planning) sessionOnly() bool {
	for _, w := range []string{"SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT", "USE"} {
		if p.src.is(0, w) {
			return true
		}
	}
	if p.src.is(0, "BEGIN") {
		return !p.compound()
	}
	// SET @x = f(), and SET @x = (SELECT ... FROM v), are no session's business.
	return p.src.is(0, "SET") && !p.src.hasOperator("(")
}

func (p *planning) lookup(name []Ident) (*Table, bool) {
	t, known := p.Catalog.Lookup(name)
	if !known {
		p.missing = append(p.missing, name)
	}
	return t, known
}

// lookupCounter returns the counter table that a name means, or nil; it only
// asks the catalog about names that could be one.
func (p *planning) lookupCounter(name []Ident) *Table {
	last := name[len(name)-1]
	for _, c := range p.Catalog.Counters() {
		if equalFold(last.Name, c.Name) {
			if t, _ := p.lookup(name); t != nil && has(p.Catalog.Counters(), t) {
				return t
			}
			return nil
		}
	}
	return nil
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// An edit replaces a span of the statement.
type edit struct {
	Span
	sql string
}

func (s *source) apply(edits []edit) string {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].Start < edits[j].Start })
	var b strings.Builder
	last := 0
	for _, e := range edits {
		b.WriteString(s.sql[last:e.Start])
		b.WriteString(e.sql)
		last = e.End
	}
	b.WriteString(s.sql[last:])
	return b.String()
}
