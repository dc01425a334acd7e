package rewrite_test

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/rewrite"
)

func TestTxEvents(t *testing.T) {
	chained := rewrite.TxEvent{Kind: rewrite.TxEnds, Chained: true}
	kind := func(k rewrite.TxKind) rewrite.TxEvent { return rewrite.TxEvent{Kind: k} }
	for _, c := range []struct {
		sql  string
		want []rewrite.TxEvent
	}{
		{"SELECT 1", nil},
		{"commit", []rewrite.TxEvent{kind(rewrite.TxEnds)}},
		{"/* a */ COMMIT -- b\n WORK;", []rewrite.TxEvent{kind(rewrite.TxEnds)}},
		{"COMMIT AND CHAIN", []rewrite.TxEvent{chained}},
		{"ROLLBACK WORK AND CHAIN NO RELEASE", []rewrite.TxEvent{chained}},
		{"COMMIT AND NO CHAIN", []rewrite.TxEvent{kind(rewrite.TxEnds)}},
		{"PREPARE TRANSACTION 'a'", []rewrite.TxEvent{kind(rewrite.TxEnds)}},
		{"PREPARE s AS SELECT 1", nil},
		{"COMMIT PREPARED 'a'", []rewrite.TxEvent{kind(rewrite.TxPrepared)}},
		{"BEGIN; SELECT ';'; COMMIT", []rewrite.TxEvent{kind(rewrite.TxBegins), kind(rewrite.TxEnds)}},
		{"BEGIN NOT ATOMIC COMMIT; END", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"SAVEPOINT A", []rewrite.TxEvent{{Kind: rewrite.TxSavepoint, Name: "a"}}},
		{"ROLLBACK WORK TO SAVEPOINT a", []rewrite.TxEvent{{Kind: rewrite.TxRollbackTo, Name: "a"}}},
		{"RELEASE SAVEPOINT a", []rewrite.TxEvent{{Kind: rewrite.TxRelease, Name: "a"}}},
		{"CREATE TEMPORARY TABLE a (b INT)", nil},
		{"CREATE OR REPLACE TEMPORARY TABLE a (b INT)", nil},
		{"CREATE TABLE a (b INT)", []rewrite.TxEvent{kind(rewrite.TxChanges)}},
		{"ALTER TABLE a ADD b INT", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"DROP PREPARE a", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"SET @@autocommit = 1", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"SET NAMES utf8mb4", nil},
		{"SET PASSWORD = PASSWORD('a')", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"SET STATEMENT max_statement_time = 1 FOR SELECT 1", nil},
		{"SET STATEMENT max_statement_time = 1, lock_wait_timeout = 2 FOR ANALYZE TABLE a", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"set statement max_statement_time = 1 for truncate table a", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"SET STATEMENT a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7 FOR SELECT 1", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
		{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY", []rewrite.TxEvent{kind(rewrite.TxReadOnly)}},
		{
			"START TRANSACTION ISOLATION LEVEL SERIALIZABLE, NOT DEFERRABLE, READ ONLY",
			[]rewrite.TxEvent{{Kind: rewrite.TxBegins, ReadOnly: true}},
		},
		{"CALL p()", []rewrite.TxEvent{kind(rewrite.TxMayEnd)}},
	} {
		for _, d := range []rewrite.Dialect{mysql.New(), postgres.New()} {
			if got := rewrite.TxEvents(d.Lexis(), c.sql); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%q: %v, want %v", c.sql, got, c.want)
			}
		}
	}
	if got := rewrite.TxEvents(mysql.New().Lexis(), "/*! COMMIT */"); len(got) != 1 || got[0].Kind != rewrite.TxMayEnd {
		t.Errorf("an executable comment: %v", got)
	}
}
