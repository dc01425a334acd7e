package lex_test

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

func TestTxEvents(t *testing.T) {
	chained := lex.TxEvent{Kind: lex.TxEnds, Chained: true}
	kind := func(k lex.TxKind) lex.TxEvent { return lex.TxEvent{Kind: k} }
	for _, c := range []struct {
		sql  string
		want []lex.TxEvent
	}{
		{"SELECT 1", nil},
		{"commit", []lex.TxEvent{kind(lex.TxEnds)}},
		{"/* a */ COMMIT -- b\n WORK;", []lex.TxEvent{kind(lex.TxEnds)}},
		{"COMMIT AND CHAIN", []lex.TxEvent{chained}},
		{"ROLLBACK WORK AND CHAIN NO RELEASE", []lex.TxEvent{chained}},
		{"COMMIT AND NO CHAIN", []lex.TxEvent{kind(lex.TxEnds)}},
		{"PREPARE TRANSACTION 'a'", []lex.TxEvent{kind(lex.TxEnds)}},
		{"PREPARE s AS SELECT 1", nil},
		{"COMMIT PREPARED 'a'", []lex.TxEvent{kind(lex.TxPrepared)}},
		{"BEGIN; SELECT ';'; COMMIT", []lex.TxEvent{kind(lex.TxBegins), kind(lex.TxEnds)}},
		{"BEGIN NOT ATOMIC COMMIT; END", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"SAVEPOINT A", []lex.TxEvent{{Kind: lex.TxSavepoint, Name: "a"}}},
		{"ROLLBACK WORK TO SAVEPOINT a", []lex.TxEvent{{Kind: lex.TxRollbackTo, Name: "a"}}},
		{"RELEASE SAVEPOINT a", []lex.TxEvent{{Kind: lex.TxRelease, Name: "a"}}},
		{"CREATE TEMPORARY TABLE a (b INT)", nil},
		{"CREATE OR REPLACE TEMPORARY TABLE a (b INT)", nil},
		{"CREATE TABLE a (b INT)", []lex.TxEvent{kind(lex.TxChanges)}},
		{"ALTER TABLE a ADD b INT", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"DROP PREPARE a", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"SET @@autocommit = 1", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"SET NAMES utf8mb4", nil},
		{"SET PASSWORD = PASSWORD('a')", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"SET STATEMENT max_statement_time = 1 FOR SELECT 1", nil},
		{"SET STATEMENT max_statement_time = 1, lock_wait_timeout = 2 FOR ANALYZE TABLE a", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"set statement max_statement_time = 1 for truncate table a", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"SET STATEMENT a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7 FOR SELECT 1", []lex.TxEvent{kind(lex.TxMayEnd)}},
		{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY", []lex.TxEvent{kind(lex.TxReadOnly)}},
		{
			"START TRANSACTION ISOLATION LEVEL SERIALIZABLE, NOT DEFERRABLE, READ ONLY",
			[]lex.TxEvent{{Kind: lex.TxBegins, ReadOnly: true}},
		},
		{"CALL p()", []lex.TxEvent{kind(lex.TxMayEnd)}},
	} {
		for _, d := range []rewrite.Dialect{mysql.New(), postgres.New()} {
			if got := lex.TxEvents(d.LexRules(), c.sql); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%q: %v, want %v", c.sql, got, c.want)
			}
		}
	}
	if got := lex.TxEvents(mysql.New().LexRules(), "/*! COMMIT */"); len(got) != 1 || got[0].Kind != lex.TxMayEnd {
		t.Errorf("an executable comment: %v", got)
	}
}
