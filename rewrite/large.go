package rewrite

import "github.com/slotsql/slotsql/rewrite/lex"

// SQL longer than maxPlanned is not parsed: their tokens and trees
// would cost a multiple of their size. They are scanned once, of which only
// the beginning is kept.

const (
	// maxCut bounds the calls of several statements that are cut into them.
	maxCut = 4 << 20
	// keptTokens of a long statement are kept: enough to tell its kind.
	keptTokens = 16
)

// large plans a statement that is longer than maxPlanned.
func (pl *Planner) large(sql string) (*Plan, error) {
	p := newPlanning(pl, scanLarge(pl.Dialect.LexRules(), sql))
	if p.src.several && len(sql) <= maxCut {
		tokens, exec := lex.Scan(pl.Dialect.LexRules(), sql)
		if spans := lex.Split(sql, tokens, exec); len(spans) > 1 {
			return pl.multi(sql, tokens, spans)
		}
	}
	mentioned := p.mentions.tables()
	plan := p.hidden(mentioned)
	switch {
	case plan != nil:
	case p.src.several && len(sql) > maxCut:
		plan = &Plan{Class: Refused, Tables: tableNames(mentioned),
			Reason: "several statements in one call that name a counter table are longer than 4 MiB; send them one by one"}
	default:
		plan = p.drains.drainAll(mentioned, "the statement is longer than 1 MiB")
	}
	plan.SQL, plan.Touched, plan.Inputs = sql, mentioned, p.src.inputs()
	plan.Effects = TxControl | Namespace | SchemaChange
	return plan, nil
}

// scanLarge scans a statement without keeping more than its beginning.
func scanLarge(lx *lex.Rules, sql string) *source {
	s := &source{sql: sql, large: true}
	sc := lex.NewScanner(lx, sql)
	ended := false
	c := lex.Placeholders{}
	for {
		t := sc.Next()
		if t.Kind == lex.EOF {
			break
		}
		semicolon := t.Kind == lex.Operator && sql[t.Start] == ';'
		s.several = s.several || ended && !semicolon
		ended = ended || semicolon
		if len(s.tokens) < keptTokens {
			s.tokens = append(s.tokens, t)
		}
		if t.Kind == lex.Param {
			c.Add(sql[t.Start:t.End])
		}
	}
	if len(s.tokens) > 0 && lex.HasBody(sql, s.tokens, 0) {
		s.several = false
	}
	s.count = c.Count
	s.exec = sc.Exec
	return s
}
