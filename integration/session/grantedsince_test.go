package session

import (
	"context"
	"database/sql"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// Rights that a role gains by membership, which changes nothing of the tables, hold for
// a running process from the next statement on: in a transaction and outside of one.
func TestRightsByMembership(t *testing.T) {
	t.Parallel()
	for _, level := range []sql.IsolationLevel{-1, sql.LevelDefault, sql.LevelRepeatableRead} {
		name := "autocommit"
		if level >= 0 {
			name = level.String()
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "postgres", "")
			a := newAccounts(t, p)
			olderTransaction(t, p)
			group := "group_" + a.name
			twin.ExecAll(t, p.Plain, "CREATE ROLE "+group)
			t.Cleanup(func() {
				_, _ = p.Under.Exec("DROP OWNED BY " + group)
				_, _ = p.Plain.Exec("DROP OWNED BY " + group)
				_, _ = p.Plain.Exec("DROP ROLE " + group)
			})
			a.run(t, "CREATE VIEW tops AS SELECT id, views FROM posts", "GRANT SELECT ON tops TO app", "GRANT SELECT, UPDATE ON posts TO "+group)
			p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
			twin.ExecAll(t, p.Under, "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO "+group)
			for _, g := range a.refused(t) {
				twin.ExecAll(t, p.Under, g)
			}
			s := a.pair(t)
			granted(t, s.wrapped.(*sql.DB).QueryRow("SELECT views FROM tops WHERE id = 1").Scan(new(int)))
			twin.ExecAll(t, p.Plain, "GRANT "+group+" TO "+a.name)
			one := both{twin.Conn(t, s.plain.(*sql.DB)), twin.Conn(t, s.wrapped.(*sql.DB))}
			read := twin.Statement{SQL: "SELECT views FROM tops WHERE id = 1"}
			if level < 0 {
				one.same(t, read)
			} else {
				txs := one.begin(t, &sql.TxOptions{Isolation: level})
				txs.same(t, read)
				txs.same(t, read)
				txs.commit(t)
			}
			one.same(t, read)
			p.Same(t, twin.Statement{SQL: totals})
		})
	}
}

// olderTransaction begins a transaction that is older than those that count from now on,
// and runs until the test ends: they are not below the oldest one that a snapshot does not see.
func olderTransaction(t *testing.T, p *twin.Pair) {
	t.Helper()
	tx, err := p.Under.BeginTx(context.Background(), nil) // not the test's context, which ends before the clean-up
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec("SELECT txid_current()"); err != nil {
		t.Fatal(err)
	}
}
