package lex

import "strings"

// A TxEvent is what one statement does to the transaction of its session, judging by its words.
type TxEvent struct {
	Kind TxKind
	// Name is the savepoint's, in lower case.
	Name string
	// ReadOnly: the transaction that begins may not write.
	ReadOnly bool
	// Chained: the end of this transaction has begun another one (AND CHAIN).
	Chained bool
}

// TxKind is the kind of a TxEvent.
type TxKind uint8

// The kinds.
const (
	TxNothing TxKind = iota
	TxBegins
	TxEnds
	// TxMayEnd: the statement may end the transaction, begin another one, or do neither: a CALL,
	// SET autocommit, LOCK TABLES.
	TxMayEnd
	// TxChanges: the statement changes the schema, beyond temporary tables. On some engines
	// that ends the transaction.
	TxChanges
	TxSavepoint
	TxRelease
	TxRollbackTo
	// TxPrepared: another transaction, which had been prepared, has ended.
	TxPrepared
	// TxReadOnly: the access mode (READ ONLY, READ WRITE) of the open transaction or of later
	// ones changes.
	TxReadOnly
)

// MaxTxSQL is the length of the longest SQL that is searched for statements that control transactions.
const MaxTxSQL = 1 << 16

// TxEvents returns what the statements of one call do to the transaction: one event for each
// statement that may do something.
func TxEvents(rules *Rules, sql string) []TxEvent {
	if len(sql) > MaxTxSQL {
		return []TxEvent{{Kind: TxMayEnd}}
	}
	tokens, exec := Scan(rules, sql)
	var out []TxEvent
	for _, span := range Split(sql, tokens, exec) {
		var first words
		for len(tokens) > 0 && tokens[0].Start < span.End {
			t := tokens[0]
			tokens = tokens[1:]
			if t.Start >= span.Start && t.Kind != Operator && len(first) < maxControlWords {
				first = append(first, sql[t.Start:t.End])
			}
		}
		if e := first.txEvent(); e.Kind != TxNothing {
			out = append(out, e)
		}
	}
	return out
}

// maxControlWords is how many words of a statement are read.
const maxControlWords = 16

// words are the first words of a statement.
type words []string

// is reports whether word i is one of a list, in any letter case.
func (w words) is(i int, list ...string) bool {
	if i < 0 || i >= len(w) {
		return false
	}
	for _, x := range list {
		if strings.EqualFold(w[i], x) {
			return true
		}
	}
	return false
}

// named is an event of the savepoint that the last word names.
func (w words) named(k TxKind) TxEvent {
	return TxEvent{Kind: k, Name: strings.ToLower(strings.Trim(w[len(w)-1], "`\"[]'"))}
}

// txEvent returns what a statement that begins with these words does to the transaction.
func (w words) txEvent() TxEvent {
	if len(w) == 0 {
		return TxEvent{Kind: TxMayEnd} // an executable comment: its code is not among the tokens
	}
	first := strings.ToUpper(w[0])
	if OnlyData(first) {
		return TxEvent{}
	}
	switch first {
	case "USE", "ATTACH", "DETACH", "PRAGMA":
		return TxEvent{}
	case "BEGIN", "START":
		return w.begin()
	case "COMMIT", "END", "ROLLBACK", "ABORT":
		return w.end()
	case "PREPARE":
		if w.is(1, "TRANSACTION") { // for a two-phase commit: no session has it any more
			return TxEvent{Kind: TxEnds}
		}
		return TxEvent{}
	case "SAVEPOINT":
		if len(w) != 2 {
			return TxEvent{}
		}
		return w.named(TxSavepoint)
	case "RELEASE":
		return w.named(TxRelease)
	case "CREATE", "DROP":
		switch {
		case w.is(1, "TEMPORARY", "TEMP"), w.is(3, "TEMPORARY", "TEMP"): // CREATE OR REPLACE
			return TxEvent{}
		case w.is(1, "TABLE", "INDEX", "UNIQUE", "VIEW", "DATABASE", "SCHEMA", "OR"):
			return TxEvent{Kind: TxChanges}
		}
	case "SET":
		return w.set()
	}
	return TxEvent{Kind: TxMayEnd} // CALL, LOCK, XA, GRANT, ALTER (of a temporary table it does not commit), garbage
}

// begin is txEvent of BEGIN and START.
func (w words) begin() TxEvent {
	if w.is(1, "NOT") { // a compound statement
		return TxEvent{Kind: TxMayEnd}
	}
	e := TxEvent{Kind: TxBegins}
	for i := 1; i < len(w); i++ {
		e.ReadOnly = e.ReadOnly || w.is(i, "ONLY") && w.is(i-1, "READ")
	}
	return e
}

// end is txEvent of COMMIT, ROLLBACK and their synonyms.
func (w words) end() TxEvent {
	if w.is(1, "PREPARED") {
		return TxEvent{Kind: TxPrepared}
	}
	if w.is(1, "TO") || w.is(2, "TO") {
		return w.named(TxRollbackTo)
	}
	e := TxEvent{Kind: TxEnds}
	for i := 1; i < len(w); i++ {
		e.Chained = e.Chained || w.is(i, "CHAIN") && !w.is(i-1, "NO")
	}
	return e
}

// set is txEvent of SET.
func (w words) set() TxEvent {
	switch {
	case w.is(1, "PASSWORD"): // it ends the transaction
		return TxEvent{Kind: TxMayEnd}
	case w.is(1, "STATEMENT"): // MariaDB's SET STATEMENT ... FOR <statement>
		for i := range w {
			if w.is(i, "FOR") {
				return w[i+1:].txEvent()
			}
		}
		return TxEvent{Kind: TxMayEnd}
	}
	for i := range w {
		if ContainsFold(w[i], "autocommit") || len(w) == maxControlWords {
			return TxEvent{Kind: TxMayEnd}
		}
	}
	for i := range w {
		if w.is(i, "ONLY") && w.is(i-1, "READ") || ContainsFold(w[i], "read_only") {
			return TxEvent{Kind: TxReadOnly}
		}
	}
	return TxEvent{}
}

// OnlyData reports whether statements that begin with a word, in upper case, read or change rows
// and do nothing to the session, its transaction or the schema.
func OnlyData(word string) bool {
	switch word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW", "DESCRIBE", "DESC",
		"MERGE", "COPY", "FETCH":
		return true
	}
	return false
}
