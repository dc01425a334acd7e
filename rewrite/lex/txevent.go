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
		var words []string
		for len(tokens) > 0 && tokens[0].Start < span.End {
			t := tokens[0]
			tokens = tokens[1:]
			if t.Start >= span.Start && t.Kind != Operator && len(words) < maxControlWords {
				words = append(words, sql[t.Start:t.End])
			}
		}
		if e := txEvent(words); e.Kind != TxNothing {
			out = append(out, e)
		}
	}
	return out
}

// maxControlWords is how many words of a statement are read.
const maxControlWords = 16

//nolint:funlen // one case for each statement that controls transactions
func txEvent(words []string) TxEvent {
	is := func(i int, list ...string) bool {
		for _, w := range list {
			if i < len(words) && strings.EqualFold(words[i], w) {
				return true
			}
		}
		return false
	}
	named := func(k TxKind) TxEvent {
		return TxEvent{Kind: k, Name: strings.ToLower(strings.Trim(words[len(words)-1], "`\"[]'"))}
	}
	if len(words) == 0 {
		return TxEvent{Kind: TxMayEnd} // an executable comment: its code is not among the tokens
	}
	first := strings.ToUpper(words[0])
	if OnlyData(first) {
		return TxEvent{}
	}
	switch first {
	case "USE", "ATTACH", "DETACH", "PRAGMA":
		return TxEvent{}
	case "BEGIN", "START":
		if is(1, "NOT") { // a compound statement
			return TxEvent{Kind: TxMayEnd}
		}
		e := TxEvent{Kind: TxBegins}
		for i := 1; i < len(words); i++ {
			e.ReadOnly = e.ReadOnly || is(i, "ONLY") && is(i-1, "READ")
		}
		return e
	case "COMMIT", "END", "ROLLBACK", "ABORT":
		if is(1, "PREPARED") {
			return TxEvent{Kind: TxPrepared}
		}
		if is(1, "TO") || is(2, "TO") {
			return named(TxRollbackTo)
		}
		e := TxEvent{Kind: TxEnds}
		for i := 1; i < len(words); i++ {
			e.Chained = e.Chained || is(i, "CHAIN") && !is(i-1, "NO")
		}
		return e
	case "PREPARE":
		if is(1, "TRANSACTION") { // for a two-phase commit: no session has it any more
			return TxEvent{Kind: TxEnds}
		}
		return TxEvent{}
	case "SAVEPOINT":
		if len(words) != 2 {
			return TxEvent{}
		}
		return named(TxSavepoint)
	case "RELEASE":
		return named(TxRelease)
	case "CREATE", "DROP":
		switch {
		case is(1, "TEMPORARY", "TEMP"), is(3, "TEMPORARY", "TEMP"): // CREATE OR REPLACE
			return TxEvent{}
		case is(1, "TABLE", "INDEX", "UNIQUE", "VIEW", "DATABASE", "SCHEMA", "OR"):
			return TxEvent{Kind: TxChanges}
		}
	case "SET":
		switch {
		case is(1, "PASSWORD"): // it ends the transaction
			return TxEvent{Kind: TxMayEnd}
		case is(1, "STATEMENT"): // MariaDB's SET STATEMENT ... FOR <statement>
			for i := range words {
				if is(i, "FOR") {
					return txEvent(words[i+1:])
				}
			}
			return TxEvent{Kind: TxMayEnd}
		}
		for i := range words {
			if ContainsFold(words[i], "autocommit") || len(words) == maxControlWords {
				return TxEvent{Kind: TxMayEnd}
			}
		}
		for i := range words {
			if is(i, "ONLY") && is(i-1, "READ") || ContainsFold(words[i], "read_only") {
				return TxEvent{Kind: TxReadOnly}
			}
		}
		return TxEvent{}
	}
	return TxEvent{Kind: TxMayEnd} // CALL, LOCK, XA, GRANT, ALTER (of a temporary table it does not commit), garbage
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
