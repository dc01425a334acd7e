package rewrite

import (
	"slices"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// MissingError says which tables have to be looked up before a statement can be
// planned.
type MissingError struct{ Names [][]ast.Ident }

func (e *MissingError) Error() string {
	names := make([]string, len(e.Names))
	for i, n := range e.Names {
		for j, part := range n {
			if j > 0 {
				names[i] += "."
			}
			names[i] += part.Name
		}
	}
	return "slotsql: the definitions of some tables could not be read: " + strings.Join(names, ", ")
}

// Planner makes plans. It is safe for concurrent use when its catalog is.
type Planner struct {
	Dialect Dialect
	Catalog names.Catalog

	sentinels *sentinels // what stands for literals that are unknown; nil where all are known
}

// maxPlanned bounds the SQL that is parsed; a longer one that may
// concern a counter table is drained for.
const maxPlanned = 1 << 20

// Plan decides what to do for the SQL of one call. It returns an error only when the
// catalog lacks tables (a *MissingError).
func (pl *Planner) Plan(sql string) (*Plan, error) {
	named := pl.narrowed(sql)
	if named == nil {
		return (&Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql)}).controls(pl.Dialect.LexRules()), nil
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
	if g := plan.Group; g != nil {
		if g.SameSQL == (SQL{}) {
			g.SameSQL = g.SQL
		}
		g.SameSQL = Whole(lex.CollapseGaps(pl.Dialect.LexRules(), g.SameSQL.same))
	}
	plan.Read.reader = nil // which would keep all that the planner has made
	return plan.controls(pl.Dialect.LexRules()), nil
}

func (pl *Planner) plan(sql string) (*Plan, error) {
	if !pl.Mentions(sql) {
		return &Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql)}, nil
	}
	if lex.HintOf(sql) == lex.HintOff {
		return &Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql), Reason: "the statement begins with slotsql: off"}, nil
	}
	if len(sql) > maxPlanned {
		return pl.large(sql)
	}
	tokens, exec := lex.Scan(pl.Dialect.LexRules(), sql)
	spans := lex.Split(sql, tokens, exec)
	if at := pl.settings(sql, tokens); at > 0 && len(spans) == 1 {
		if plan, err := pl.withSettings(sql, at); plan != nil || err != nil {
			return plan, err
		}
	}
	if len(spans) <= 1 {
		return pl.single(sql, tokens, spans)
	}
	return pl.multi(sql, tokens, spans)
}

func (pl *Planner) effects(sql string) Effect {
	body := strings.TrimRight(sql, "; \t\r\n")
	if strings.IndexByte(body, ';') < 0 {
		sc := lex.NewScanner(pl.Dialect.LexRules(), sql)
		t := sc.Next()
		if !sc.Exec && (t.Kind == lex.Word || t.Kind == lex.EOF) {
			second := sc.Next()
			return pl.effectsOf(sql, []lex.Token{t, second})
		}
		return TxControl | Namespace
	}
	if len(sql) > maxPlanned {
		return TxControl | Namespace | SchemaChange
	}
	return pl.effectsOf(sql, lex.Tokens(pl.Dialect.LexRules(), sql))
}

// planning is the work on one statement: its SQL, what has been learned about it so far, and what
// answers questions about it. Reads, writes and groups are planned with it.
type planning struct {
	pl     *Planner
	d      Dialect
	src    *source
	parsed *ast.Statement // nil where the parser rejects it

	names       names.Resolver
	consts      constants
	written     writtenSources
	volatility  volatility
	keys        keyFinder
	mentions    mentions
	drains      drainer
	definitions definitions
	queries     queryState

	outer         *names.Scope    // what a data-modifying CTE stands in
	changedWithin []*schema.Table // by data-modifying CTEs

	tp template // what edits repeat of the statement, with its arguments
}

func newPlanning(pl *Planner, src *source) *planning {
	p := &planning{pl: pl, d: pl.Dialect, src: src}
	p.names = names.New(p.d, p.d.Traits().Rules, pl.Catalog)
	p.consts = constants{d: p.d, src: src, sentinels: pl.sentinels}
	p.written = writtenSources{names: &p.names, consts: &p.consts}
	p.volatility = volatility{names: &p.names, consts: &p.consts}
	p.keys = keyFinder{d: p.d, src: src, names: &p.names, consts: &p.consts, written: &p.written}
	p.mentions = mentions{d: p.d, src: src, catalog: pl.Catalog, sentinels: pl.sentinels}
	p.drains = drainer{
		d: p.d, src: src, names: &p.names, consts: &p.consts, keys: &p.keys, volatility: &p.volatility, mentions: &p.mentions,
	}
	p.definitions = definitions{d: p.d, src: src, names: &p.names, drains: &p.drains, mentions: &p.mentions}
	return p
}

// main returns the statement's query; nil if it has none, or is rejected by the parser.
func (p *planning) main() *ast.Select {
	if p.parsed == nil {
		return nil
	}
	return p.parsed.Select
}

func (pl *Planner) single(sql string, tokens []lex.Token, spans []lex.Span) (*Plan, error) {
	if len(spans) == 0 {
		return &Plan{Class: PassThrough, SQL: sql, Effects: pl.effects(sql)}, nil
	}
	body := sql[:spans[0].End]
	p := newPlanning(pl, newSource(pl.Dialect.LexRules(), body))
	plan := p.plan()
	if p.names.Work > names.MaxWork && plan.Class != Drain && plan.Class != Refused {
		plan = p.drains.drainAll(p.mentions.tables(), names.TooMuchWork)
	}
	if len(p.names.Missing) > 0 {
		return nil, &MissingError{p.names.Missing}
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
	plan.Read.Observed.end(sql[len(body):])
	if plan.Class != Drain && plan.Class != Refused {
		plan = p.drains.changedAll(plan, p.changedWithin)
	}
	plan.Effects |= pl.effectsOf(sql, tokens)
	if p.src.bad && pl.Dialect.LexRules().Foreign {
		plan.Effects |= anyEffect(sql) // the server may read what the scanner cannot
	}
	plan.Drain.Repeats = plan.Class == Drain && p.drains.repeats(plan)
	plan.Drain.Asleep = p.drains.asleep(plan, p.parsed)
	if plan.Drain.Asleep != nil && plan.Drain.Asleep.Check != nil {
		plan.Drain.Asleep.Checked.SQL.same += sql[len(body):]
	}
	plan.Drain.InsideTx = plan.Class == Drain && (p.src.is(0, "LOCK") || p.src.is(0, "DECLARE") && !p.src.hasWord("HOLD"))
	plan.Base.Shares = p.src.hasWord("SHARE")
	plan.Touched = p.mentions.tables()
	plan.Inputs = p.src.inputs()
	return plan, nil
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
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
	if src.leavesRows(0, len(src.tokens)) {
		return &Plan{Class: PassThrough}
	}
	mentioned := p.mentions.tables()
	if held := p.mentions.among(holders(p.pl.Catalog)); len(held) > 0 {
		if pl := p.definitions.planHeld(held); len(mentioned) == 0 || pl.Class == Refused {
			return pl
		}
	}
	if len(mentioned) == 0 {
		return &Plan{Class: PassThrough}
	}
	switch {
	case src.bad:
		return p.drains.drainAll(mentioned, "the statement has an unterminated quote or comment, or a character outside SQL")
	case src.exec:
		return p.drains.drainAll(mentioned, "the statement has an executable comment")
	}
	if _, why := p.mentions.viewed(); why != "" && !sessionOnly(p.src) {
		if pl := p.hidden(mentioned); pl != nil {
			return pl
		}
		if pl := p.definitions.planAncestor(); pl != nil {
			return pl
		}
		return p.planViewed(mentioned, why)
	}
	st, err := parse(p.d, p.pl.sentinels, src.sql)
	if err != nil {
		if name := p.definitions.replacedTable(); name != nil {
			return p.definitions.planReplaced(name)
		}
		if pl := p.hidden(mentioned); pl != nil {
			return pl
		}
		if p.definitions.watchesUpdates() {
			return p.definitions.planWatcher(mentioned)
		}
		return p.drains.drainAll(mentioned, Rejected+": "+err.Error())
	}
	if st.Opaque == "" && readsRows(st.Kind) && p.src.namesOwn() {
		st.Opaque = "a name is one of those that slotsql gives to parts of its own SQL"
	}
	p.parsed, p.queries.top = st, st.Select
	for p.queries.top != nil && len(p.queries.top.Operands) > 0 {
		p.queries.top = p.queries.top.Operands[0]
	}
	switch st.Kind {
	case ast.KindSession:
		return &Plan{Class: PassThrough}
	case ast.KindSelect:
		return p.drains.narrowDrain(p.planSelect(st), st)
	case ast.KindExplain:
		return p.planExplain(st)
	case ast.KindReads:
		return p.planReader(st)
	case ast.KindCreateSelect:
		return p.planCreateSelect(st)
	case ast.KindInsert:
		return p.readsBesides(p.drains.narrowDrain(p.planUpsertGroup(p.planInsert(st), st), st), st)
	case ast.KindUpdate:
		return p.readsBesides(p.drains.narrowDrain(p.planGroup(p.planUpdate(st), st), st), st)
	case ast.KindDelete:
		return p.drains.narrowDrain(p.planDelete(st), st)
	case ast.KindTruncate, ast.KindDrop, ast.KindDDL:
		return p.definitions.planDDL(st)
	}
	if pl := p.hidden(mentioned); pl != nil {
		return pl
	}
	switch {
	case p.src.is(0, "CREATE"):
		return p.drains.drainAll(mentioned, "a materialized view stores its query unchanged, and its rows must be totals")
	case p.src.is(0, "CALL"):
		return p.drains.drainAll(mentioned, "a procedure may do anything with the tables that its call names")
	}
	if st.Merge && st.Opaque == "" {
		// A row that it inserts has no slots, and one that others have inserted is found by key.
		sc := p.names.NewScope(p.outer, nil, append([]*ast.Source{st.Target}, st.From...))
		return p.drains.drainRows(st, sc, sc.Bindings[0], st.Where, true, noFasterMerge)
	}
	return p.drains.drainAll(mentioned, "there is no faster plan for this kind of statement")
}

// readsRows reports whether statements of the kind may read totals, or write rows.
func readsRows(k ast.Kind) bool {
	switch k {
	case ast.KindSelect, ast.KindReads, ast.KindCreateSelect, ast.KindInsert, ast.KindUpdate, ast.KindDelete:
		return true
	}
	return false
}

// hidden refuses what a drain cannot make right: SQL-level PREPARE, whose
// EXECUTE names no table, and LOCK TABLES.
func (p *planning) hidden(mentioned []*schema.Table) *Plan {
	if p.src.is(0, "PREPARE") && !p.src.is(1, "TRANSACTION") {
		return &Plan{Class: Refused, Tables: tableNames(mentioned),
			Reason: "SQL-level PREPARE hides its statement from slotsql; prepare it through database/sql (db.Prepare)"}
	}
	if p.d.Traits().Compound && compound(p.src) && (p.src.hasWord("COMMIT") || p.src.hasWord("ROLLBACK") || p.src.hasWord("START")) {
		return &Plan{Class: Refused, Tables: tableNames(mentioned),
			Reason: "a compound statement that controls transactions would end the drain halfway; send its statements one by one"}
	}
	if p.d.Traits().LockTables && p.src.is(0, "LOCK") && (p.src.is(1, "TABLES") || p.src.is(1, "TABLE")) {
		return &Plan{Class: Refused, Tables: tableNames(mentioned),
			Reason: "LOCK TABLES locks out the slot tables; use a transaction with SELECT ... FOR UPDATE"}
	}
	return nil
}

// compound reports whether the statement is a compound one, outside of a routine.
func compound(src *source) bool {
	return len(src.tokens) > 0 && !src.is(0, "CREATE") && !src.is(0, "ALTER") && !src.is(0, "DELIMITER") &&
		lex.HasBody(src.sql, src.tokens, 0)
}

// sessionOnly reports whether the statement is one that reads no table: a
// transaction or a savepoint may be named like a view.
func sessionOnly(src *source) bool {
	for _, w := range []string{"SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT", "USE"} {
		if src.is(0, w) {
			return true
		}
	}
	if src.is(0, "BEGIN") {
		return !compound(src)
	}
	// SET @x = f(), and SET @x = (SELECT ... FROM v), are no session's business.
	return src.is(0, "SET") && !src.hasOperator("(")
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
