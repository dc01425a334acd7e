package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// effectsOf finds what a statement may do to its session. Tokens are all of SQL of
// several statements, of another one the first two may do.
func (pl *Planner) effectsOf(sql string, tokens []lex.Token) Effect {
	e := effects(pl.Dialect.LexRules(), sql, tokens)
	if c, ok := pl.Catalog.(MovingCatalog); ok && c.Moves(sql) {
		e |= Moved
	}
	lx := pl.Dialect.LexRules()
	if !lx.SelectInto ||
		strings.IndexByte(sql, ';') < 0 && len(tokens) > 0 && strings.EqualFold(sql[tokens[0].Start:tokens[0].End], "INSERT") {
		return e
	}
	if lex.ContainsFold(sql, "into") || lex.ContainsFold(sql, "explain") && lex.ContainsFold(sql, "create") {
		e |= makesTable(lx, sql, lex.Tokens(lx, sql))
	}
	return e
}

// makesTable finds a table that a query makes, or a statement inside EXPLAIN.
func makesTable(rules *lex.Rules, sql string, tokens []lex.Token) (e Effect) {
	first, explain := true, false
	is := func(i int, list ...string) bool {
		for _, w := range list {
			if i >= 0 && i < len(tokens) && tokens[i].Kind == lex.Word && strings.EqualFold(sql[tokens[i].Start:tokens[i].End], w) {
				return true
			}
		}
		return false
	}
	query := false
	for i, t := range tokens {
		if t.Kind == lex.Operator {
			first = first || sql[t.Start] == ';'
			continue
		}
		if first {
			first, explain = false, is(i, "EXPLAIN")
			query = is(i, "SELECT", "WITH", "EXPLAIN", "VALUES", "TABLE")
		}
		if query && (is(i, "INTO") && !is(i-1, "INSERT", "MERGE") || explain && is(i, "CREATE")) {
			e |= effectOf(rules, "CREATE", sql, nil)
		}
	}
	return e
}

// effects finds what a statement may do to its session by the first word of each
// of its statements. It errs on the side of reporting too much: an effect
// costs the session one look at the engine, nothing else.
func effects(rules *lex.Rules, sql string, tokens []lex.Token) Effect {
	var e Effect
	first := true
	for i, t := range tokens {
		if t.Kind == lex.Operator && sql[t.Start] == ';' {
			first = true
			continue
		}
		if !first || t.Kind == lex.Operator && sql[t.Start] == '(' {
			continue // nothing but a query stands in parentheses
		}
		first = false
		if t.Kind != lex.Word {
			e |= TxControl | SessionChange // executable comments, garbage
			continue
		}
		e |= effectOf(rules, strings.ToUpper(sql[t.Start:t.End]), sql, tokens[i+1:])
	}
	if lex.SetsPath(sql) {
		e |= Moved
	}
	return e
}

// Moved is what a statement does to its session that gives it another search path.
const Moved = Namespace | SessionChange

// MovingCatalog is a Catalog that knows which functions set the search path.
type MovingCatalog interface {
	// Moves reports whether a statement may call one.
	Moves(sql string) bool
}

func effectOf(rules *lex.Rules, word, sql string, rest []lex.Token) Effect {
	if lex.OnlyData(word) {
		return 0
	}
	e := Effect(0)
	if runsOthers(word, sql, rest) {
		e = schemaChangeIn(sql)
	}
	switch word {
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
		return TxControl | e
	case "USE", "ATTACH", "DETACH", "PRAGMA":
		return Namespace | SessionChange
	case "CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE":
		e = TxControl | Namespace | SchemaChange
		if lex.Temporary(rules, sql) {
			e |= SessionChange
		}
		return e
	}
	return TxControl | Namespace | SessionChange | e // SET, RESET, CALL, LOCK, XA, ...
}

// runsOthers reports whether a statement has others in it: a literal that is run, or a block of code.
// (CALL only names what it runs, as EXECUTE does without IMMEDIATE.)
func runsOthers(word, sql string, rest []lex.Token) bool {
	next := ""
	if len(rest) > 0 {
		next = sql[rest[0].Start:rest[0].End]
	}
	switch word {
	case "BEGIN":
		return strings.EqualFold(next, "NOT") // ATOMIC
	case "EXECUTE":
		return strings.EqualFold(next, "IMMEDIATE")
	case "DO", "IF", "CASE", "LOOP", "REPEAT", "WHILE", "FOR":
		return true
	}
	return false
}

// schemaChangeIn reports SchemaChange if any word in SQL may begin a statement that changes the schema.
func schemaChangeIn(sql string) Effect {
	for _, word := range []string{"create", "alter", "drop", "rename", "truncate"} {
		if lex.ContainsFold(sql, word) {
			return SchemaChange
		}
	}
	return 0
}

// anyEffect returns every effect that a statement may have which cannot be cut into
// tokens.
func anyEffect(sql string) Effect {
	return TxControl | Namespace | SessionChange | schemaChangeIn(sql)
}

// AnyEffect returns the effects of a statement of which it is not known by which rules
// the session reads it: those of the first statement, and every one that it may
// have where it may be of several.
func AnyEffect(d Dialect, sql string) Effect {
	e := Effects(d, sql)
	if strings.IndexByte(sql, ';') >= 0 {
		e |= anyEffect(sql)
	}
	return e
}

// Untouched returns the plan of a statement that concerns no counter table.
func Untouched(d Dialect, sql string) Plan {
	p := Plan{Class: PassThrough, SQL: sql, Effects: Effects(d, sql)}
	p.controls(d.LexRules())
	return p
}

// Effects returns the effects of a statement that concerns no counter table.
func Effects(d Dialect, sql string) Effect { return (&Planner{Dialect: d}).effects(sql) }

// controls works out the TxEvents of a plan whose SQL may have any.
func (p *Plan) controls(lx *lex.Rules) *Plan {
	if p.Effects&TxControl != 0 {
		p.TxEvents = append([]lex.TxEvent{}, lex.TxEvents(lx, p.SQL)...)
	}
	return p
}
