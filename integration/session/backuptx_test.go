package session

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// In a transaction of the application a statement that drains is several, as two statements of a plain one are: where another
// session waits for the row that the first one holds, and a backup waits for that session, the next one waits for the backup.
// That ends when the other session gives up (innodb_lock_wait_timeout), and then all go on.
func TestBackupInTransaction(t *testing.T) {
	const timeout, set = 2 * time.Second, "UPDATE posts SET views = 7 WHERE id = 1"
	at := &pauses{}
	p := ownServer(t, at)
	other, err := sql.Open("mysql", dsnOf(t, p)+fmt.Sprintf("?multiStatements=true&innodb_lock_wait_timeout=%d", int(timeout.Seconds())))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	counts, locks := twin.Conn(t, other), twin.Conn(t, other)
	counted, locked := make(chan error, 1), make(chan error, 1)
	beside := func() {
		go func() {
			_, err := counts.ExecContext(context.Background(), "UPDATE posts SET views = views + 1 WHERE id = 1")
			counted <- err
		}()
		blocked := p.UntilBlocked(t, counted)
		go func() {
			_, err := locks.ExecContext(context.Background(), readLocks["backup"])
			if err != nil && strings.Contains(twin.Class(err), "1213") {
				// MySQL chose it as deadlock victim of the transaction's next statement. It keeps the lock nevertheless.
				err = nil
				_, _ = locks.ExecContext(context.Background(), "UNLOCK TABLES")
			}
			locked <- err
		}()
		for blocked && len(locked) == 0 && twin.Rows(t, p.Under, backupsWaiting) == "0" {
			time.Sleep(time.Millisecond)
		}
	}
	// ended has what came of a transaction beside which others have run.
	ended := func(what string, began time.Time, err error) (stalled bool) {
		t.Helper()
		took, count, lock := time.Since(began), <-counted, <-locked
		if stalled = count != nil; stalled && !strings.Contains(twin.Class(count), "1205") {
			t.Errorf("%s: the other session: %v", what, count)
		}
		if err != nil || lock != nil || took > 10*timeout {
			t.Errorf("%s: the transaction: %v, the backup: %v, after %v", what, err, lock, took)
		}
		return stalled
	}
	for name, slots := range map[string][]string{"without slots": nil, "with slots": {work[0], work[0]}} {
		for n, paused := 1, true; paused; n++ {
			twin.ExecAll(t, p.Wrapped, append([]string{"DELETE FROM posts", schema("mysql")[1]}, slots...)...)
			paused = false
			at.mu.Lock()
			at.left, at.do = n, func() {
				paused = true
				beside()
			}
			at.mu.Unlock()
			began := time.Now()
			tx, err := p.Wrapped.BeginTx(t.Context(), nil)
			if err == nil {
				_, err = tx.ExecContext(t.Context(), set)
			}
			if err == nil {
				err = tx.Commit()
			}
			at.mu.Lock()
			at.do = nil
			at.mu.Unlock()
			if paused && ended(fmt.Sprintf("a row %s, statement %d", name, n), began, err) && n == 1 {
				t.Error("the first statement waits")
			}
		}
	}
	_ = p.Wrapped.Close() // whose folds may wait for the row as well
	began := time.Now()
	tx, err := p.Under.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.ExecContext(t.Context(), set)
	}
	if err != nil {
		t.Fatal(err)
	}
	beside()
	if _, err = tx.ExecContext(t.Context(), set); err == nil {
		err = tx.Commit()
	}
	if !ended("two statements, plain", began, err) {
		t.Error("two statements of a plain transaction do not stall: divergences.md and docs/design/locks.md say that they do")
	}
}
