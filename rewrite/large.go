package rewrite

import "strings"

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
	p := &planning{Planner: pl, d: pl.Dialect, src: scanLarge(pl.Dialect.Lexis(), sql)}
	if p.src.several && len(sql) <= maxCut {
		tokens, exec := scan(pl.Dialect.Lexis(), sql)
		if spans := split(sql, tokens, exec); len(spans) > 1 {
			return pl.multi(sql, tokens, spans)
		}
	}
	mentioned := p.mentioned()
	plan := p.hidden(mentioned)
	switch {
	case plan != nil:
	case p.src.several && len(sql) > maxCut:
		plan = &Plan{Class: Refused, Tables: names(mentioned),
			Reason: "several statements in one call that name a counter table are longer than 4 MiB; send them one by one"}
	default:
		plan = p.drainAll(mentioned, "the statement is longer than 1 MiB")
	}
	plan.SQL, plan.Touched, plan.Inputs = sql, mentioned, p.src.inputs()
	plan.Effects = TxControl | Namespace | SchemaChange
	return plan, nil
}

// scanLarge scans a statement without keeping more than its beginning.
func scanLarge(lx *Lexis, sql string) *source {
	s := &source{sql: sql, large: true}
	sc := NewScanner(lx, sql)
	ended := false
	c := paramCount{}
	for {
		t := sc.Next()
		if t.Kind == EOF {
			break
		}
		semicolon := t.Kind == Operator && sql[t.Start] == ';'
		s.several = s.several || ended && !semicolon
		ended = ended || semicolon
		if len(s.tokens) < keptTokens {
			s.tokens = append(s.tokens, t)
		}
		if t.Kind == ParamTok {
			c.add(sql[t.Start:t.End])
		}
	}
	if len(s.tokens) > 0 && wholeStatement(sql, s.tokens, 0) {
		s.several = false
	}
	s.count = c.most
	s.exec = sc.Exec
	return s
}

// wholeStatement reports whether the statement that begins with token i holds
// semicolons: BEGIN ... END bodies of triggers, procedures and blocks.
func wholeStatement(sql string, tokens []Token, i int) bool {
	word := func(i int) string {
		if i < len(tokens) && tokens[i].Kind == Word {
			return strings.ToUpper(sql[tokens[i].Start:tokens[i].End])
		}
		return ""
	}
	switch word(i) {
	case "BEGIN":
		return word(i+1) == "NOT"
	case "IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR":
		return true // of a compound statement; nothing else begins so
	case "CREATE", "ALTER", "DELIMITER":
	default:
		// label: LOOP
		return i+2 < len(tokens) && tokens[i+1].Kind == Operator && sql[tokens[i+1].Start:tokens[i+1].End] == ":" &&
			wholeStatement(sql, tokens, i+2) &&
			word(i+2) != "CREATE" &&
			word(i+2) != "ALTER"
	}
	for j := i + 1; j < i+16; j++ {
		switch word(j) {
		case "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE":
			return true
		}
	}
	return false
}
