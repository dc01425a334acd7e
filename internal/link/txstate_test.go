package link

import (
	"testing"

	"github.com/slotsql/slotsql/rewrite/lex"
)

// The states of a transaction: events in, state out, for the ways that engines have.
func TestTx(t *testing.T) {
	t.Parallel()
	type event = func(*Tx)
	var (
		mysql    = TxRules{DDLCommits: true}
		postgres = TxRules{Watched: true}
		sqlite   = TxRules{}
		ddl      = TxRules{DDLCommits: true, DDL: true}
	)
	apply := func(k lex.TxKind, r TxRules) event {
		return func(tx *Tx) { tx.Apply(lex.TxEvent{Kind: k}, r) }
	}
	chain := func(r TxRules) event {
		return func(tx *Tx) { tx.Apply(lex.TxEvent{Kind: lex.TxEnds, Chained: true}, r) }
	}
	begin := (*Tx).Begin
	finish := func(mayBeOpen bool) event { return func(tx *Tx) { tx.Finish(mayBeOpen) } }
	reset := func(idle, ended bool) event {
		return func(tx *Tx) {
			if got := tx.Reset(idle); got != ended {
				t.Errorf("reset: ended %v, want %v", got, ended)
			}
		}
	}
	const begins, ends, mayEnd, changes = lex.TxBegins, lex.TxEnds, lex.TxMayEnd, lex.TxChanges
	for _, c := range []struct {
		name   string
		events []event
		want   TxPhase
	}{
		{"a new session", nil, TxNone},
		{"BeginTx", []event{begin}, TxBegun},
		{"BeginTx, Commit", []event{begin, finish(false)}, TxNone},
		{"BeginTx, Commit fails", []event{begin, finish(true)}, TxLeftOpen},
		{"BeginTx, Commit fails, reset", []event{begin, finish(true), reset(false, false)}, TxLeftOpen},
		{"BeginTx, Commit fails, BeginTx", []event{begin, finish(true), begin}, TxBegun},
		{"BEGIN", []event{apply(begins, mysql)}, TxBySQL},
		{"BEGIN, watched", []event{apply(begins, postgres)}, TxBegun},
		{"BEGIN, COMMIT", []event{apply(begins, mysql), apply(ends, mysql)}, TxNone},
		{"BEGIN, COMMIT, one writer", []event{apply(begins, sqlite), apply(ends, sqlite)}, TxNone},
		{"BEGIN, the parent knows of none", []event{apply(begins, postgres), (*Tx).Close}, TxNone},
		{"BEGIN, COMMIT AND CHAIN", []event{apply(begins, mysql), chain(mysql)}, TxBySQL},
		{"COMMIT AND CHAIN, watched", []event{chain(postgres)}, TxBegun},
		{"BEGIN, COMMIT fails", []event{apply(begins, mysql), (*Tx).Fail}, TxBySQL},
		{"BEGIN, reset", []event{apply(begins, mysql), reset(false, false)}, TxLeftOpen},
		{"BEGIN, reset, COMMIT", []event{apply(begins, mysql), reset(false, false), apply(ends, mysql)}, TxNone},
		{"a failure, reset where the parent knows of none", []event{(*Tx).Fail, reset(true, true)}, TxNone},
		{"BeginTx, CREATE TABLE commits", []event{begin, apply(changes, ddl)}, TxNone},
		{"BeginTx, CREATE TABLE", []event{begin, apply(changes, sqlite)}, TxBegun},
		{"CREATE TABLE", []event{apply(changes, sqlite)}, TxNone},
		{"BEGIN, CREATE TABLE, watched", []event{apply(begins, postgres), apply(changes, postgres)}, TxBegun},
		{"ALTER TABLE", []event{apply(mayEnd, ddl)}, TxNone},
		{"BEGIN, ALTER TABLE", []event{apply(begins, mysql), apply(mayEnd, ddl)}, TxBySQL},
		{"BEGIN, ALTER TABLE, COMMIT", []event{apply(begins, mysql), apply(mayEnd, ddl), apply(ends, mysql)}, TxNone},
		{"SET autocommit", []event{apply(mayEnd, mysql)}, TxBySQL},
		{"SET autocommit, COMMIT", []event{apply(mayEnd, mysql), apply(ends, mysql)}, TxImplicit},
		{"SET autocommit, COMMIT, reset", []event{apply(mayEnd, mysql), apply(ends, mysql), reset(false, true)}, TxNone},
		{"SET autocommit, CREATE TABLE", []event{apply(mayEnd, mysql), apply(changes, ddl)}, TxImplicit},
		{"SAVEPOINT", []event{apply(lex.TxSavepoint, sqlite)}, TxBySQL},
		{"SET TRANSACTION READ ONLY", []event{apply(lex.TxReadOnly, mysql)}, TxNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			tx := Tx{rare: new(Rare)}
			for _, e := range c.events {
				e(&tx)
			}
			keeps := c.want == TxBegun || c.want == TxBySQL || c.want == TxImplicit
			bySQL := c.want == TxBySQL || c.want == TxLeftOpen
			if tx.rare.Any(TxDangling) != (c.want == TxLeftOpen) || !tx.rare.Any(TxNoted) && c.want != TxNone {
				t.Errorf("bits %b in phase %d", *tx.rare, c.want)
			}
			if tx.Phase() != c.want || tx.None() != (c.want == TxNone) || tx.rare.Any(TxOpen) != keeps || tx.BySQL() != bySQL {
				t.Errorf("phase %d, want %d", tx.Phase(), c.want)
			}
		})
	}
}

// What the engine has said holds until something may have changed it.
func TestTxAnswer(t *testing.T) {
	t.Parallel()
	yes, no := func(tx *Tx) { tx.Answer(true) }, func(tx *Tx) { tx.Answer(false) }
	for _, c := range []struct {
		name              string
		events            []func(*Tx)
		known, open, last bool
	}{
		{"never asked", nil, false, false, false},
		{"open", []func(*Tx){yes}, true, true, true},
		{"closed", []func(*Tx){no}, true, false, false},
		{"open, in doubt", []func(*Tx){yes, (*Tx).Doubt, (*Tx).Doubt}, false, false, true},
		{"closed, in doubt", []func(*Tx){no, (*Tx).Doubt}, false, false, false},
		{"closed, reset", []func(*Tx){no, func(tx *Tx) { tx.Reset(false) }}, true, false, false},
		{"BeginTx", []func(*Tx){no, (*Tx).Begin}, true, true, true},
		{"Commit", []func(*Tx){(*Tx).Begin, func(tx *Tx) { tx.Finish(false) }}, false, false, false},
		{"a statement's BEGIN", []func(*Tx){no, func(tx *Tx) { tx.Apply(lex.TxEvent{Kind: lex.TxBegins}, TxRules{}) }}, false, false, false},
	} {
		tx := Tx{rare: new(Rare)}
		for _, e := range c.events {
			e(&tx)
		}
		if open, known := tx.Known(); known != c.known || open != c.open || tx.LastKnownOpen() != c.last {
			t.Errorf("%s: %v, %v, last %v", c.name, open, known, tx.LastKnownOpen())
		}
	}
}

// The application's transaction has no snapshot until something has run in it that may open one.
func TestTxUnread(t *testing.T) {
	t.Parallel()
	sql := func(k lex.TxKind) func(*Tx) {
		return func(tx *Tx) { tx.Apply(lex.TxEvent{Kind: k}, TxRules{DDLCommits: true}) }
	}
	for _, c := range []struct {
		name   string
		events []func(*Tx)
		unread bool
	}{
		{"none", nil, false},
		{"BeginTx", []func(*Tx){(*Tx).Begin}, true},
		{"read", []func(*Tx){(*Tx).Begin, (*Tx).Read}, false},
		{"read, BeginTx", []func(*Tx){(*Tx).Begin, (*Tx).Read, (*Tx).Begin}, true},
		{"Commit", []func(*Tx){(*Tx).Begin, func(tx *Tx) { tx.Finish(false) }}, false},
		{"BEGIN", []func(*Tx){sql(lex.TxBegins)}, false},
		{"a CALL", []func(*Tx){(*Tx).Begin, sql(lex.TxMayEnd)}, false},
		{"COMMIT by SQL, BEGIN", []func(*Tx){(*Tx).Begin, sql(lex.TxEnds), sql(lex.TxBegins)}, false},
	} {
		tx := Tx{rare: new(Rare)}
		for _, e := range c.events {
			e(&tx)
		}
		if tx.Unread() != c.unread {
			t.Errorf("%s: %v", c.name, tx.Unread())
		}
	}
}

// A transaction of slotsql's own, and its snapshot.
func TestOwnTx(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		events        []func(*Tx)
		own, snapshot bool // snapshot: one may have been taken
	}{
		{"none", nil, false, true},
		{"no snapshot without one", []func(*Tx){(*Tx).TakeSnapshot, (*Tx).BeginOwn}, true, false},
		{"snapshot", []func(*Tx){(*Tx).BeginOwn, (*Tx).TakeSnapshot}, true, true},
		{"ended", []func(*Tx){(*Tx).BeginOwn, (*Tx).TakeSnapshot, (*Tx).EndOwn}, false, true},
		{"the next", []func(*Tx){(*Tx).BeginOwn, (*Tx).TakeSnapshot, (*Tx).EndOwn, (*Tx).BeginOwn}, true, false},
	} {
		tx := Tx{rare: new(Rare)}
		for _, e := range c.events {
			e(&tx)
		}
		if tx.Own() != c.own || tx.OwnWithoutSnapshot() == c.snapshot {
			t.Errorf("%s: own %v, without a snapshot %v", c.name, tx.Own(), tx.OwnWithoutSnapshot())
		}
	}
}

// A transaction is unused until a statement has run in it: a savepoint is none that
// begins one.
func TestTxUnused(t *testing.T) {
	t.Parallel()
	begin := func(tx *Tx) {
		tx.Ran(true)
		tx.Apply(lex.TxEvent{Kind: lex.TxBegins}, TxRules{})
	}
	exclusive := func(tx *Tx) {
		tx.Ran(false)
		tx.Apply(lex.TxEvent{Kind: lex.TxBegins}, TxRules{})
	}
	savepoint := func(tx *Tx) {
		tx.Ran(true)
		tx.Apply(lex.TxEvent{Kind: lex.TxSavepoint}, TxRules{})
	}
	run := func(tx *Tx) { tx.Ran(false) }
	for _, c := range []struct {
		name   string
		events []func(*Tx)
		want   bool
	}{
		{"BEGIN", []func(*Tx){begin}, true},
		{"BeginTx", []func(*Tx){(*Tx).Begin}, true},
		{"outermost savepoint", []func(*Tx){savepoint}, true},
		{"BEGIN, savepoint", []func(*Tx){begin, savepoint}, true},
		{"BEGIN, statement", []func(*Tx){begin, run}, false},
		{"BEGIN, statement, savepoint", []func(*Tx){begin, run, savepoint}, false},
		{"BEGIN EXCLUSIVE", []func(*Tx){exclusive}, false},
		{"BEGIN EXCLUSIVE, savepoint", []func(*Tx){exclusive, savepoint}, false},
	} {
		tx := Tx{rare: new(Rare)}
		for _, e := range c.events {
			e(&tx)
		}
		if tx.Unused() != c.want {
			t.Errorf("%s: unused is %v", c.name, tx.Unused())
		}
	}
}
