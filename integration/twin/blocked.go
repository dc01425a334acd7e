package twin

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// poll is how often the server is asked whether a session waits.
const poll = 10 * time.Millisecond

// UntilBlocked waits until a session of the wrapped side's database waits for a lock, and reports
// true; or until done, which is what such a session is to send to, has something, and reports false.
// It polls the server's view of its sessions and gives up with the test only: a slow machine is
// waited for.
func (p *Pair) UntilBlocked(t testing.TB, done <-chan error) bool {
	t.Helper()
	for len(done) == 0 {
		if p.blocked(t) {
			return true
		}
		time.Sleep(poll)
	}
	return false
}

// UntilDefinitionWaits waits until a session of the wrapped side's database waits for the lock of a table as a
// whole, or until done has something.
func (p *Pair) UntilDefinitionWaits(t testing.TB, done chan error) {
	t.Helper()
	waiting := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE '%metadata lock%'"
	if p.Dialect == "postgres" {
		waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'relation' AND datname = current_database()"
	}
	for len(done) == 0 && Rows(t, p.Under, waiting) == "0" {
		time.Sleep(poll)
	}
}

// thread finds the session of one of InnoDB's transactions.
var thread = regexp.MustCompile(`thread id (\d+),`)

// blocked reports whether a session of the wrapped side's database waits for a lock.
func (p *Pair) blocked(t testing.TB) bool {
	t.Helper()
	if p.Dialect == "postgres" {
		return Rows(t, p.Under, "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") != "0"
	}
	if onMySQL.Load() { // whose status leaves out transactions that have not written yet
		return Rows(t, p.Under, "SELECT COUNT(*) FROM performance_schema.data_lock_waits AS w JOIN performance_schema.threads AS s "+
			"ON s.THREAD_ID = w.REQUESTING_THREAD_ID WHERE s.PROCESSLIST_DB = DATABASE()") != "0"
	}
	return p.innoDB(t, "LOCK WAIT")
}

// Open reports whether a session of the wrapped side's database is in a transaction.
func (p *Pair) Open(t testing.TB) bool {
	t.Helper()
	if p.Dialect == "postgres" {
		return Rows(t, p.Under, "SELECT COUNT(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND backend_type = 'client backend' "+
			"AND pid <> pg_backend_pid() AND datname = current_database()") != "0"
	}
	return p.innoDB(t, " ACTIVE")
}

// innoDB reports whether a transaction of the wrapped side's database is in a state. It does not ask
// information_schema.INNODB_TRX: MariaDB renews that only when no session of the server has read it
// for 0.1 s, so that two tests which poll it may keep each other from ever seeing anything new.
func (p *Pair) innoDB(t testing.TB, state string) bool {
	t.Helper()
	own := map[string]bool{}
	for id := range strings.Lines(Rows(t, p.Under, "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE()")) {
		own[strings.TrimSpace(id)] = true
	}
	for _, trx := range strings.Split(Rows(t, p.Under, "SHOW ENGINE INNODB STATUS"), "---TRANSACTION")[1:] {
		if m := thread.FindStringSubmatch(trx); m != nil && own[m[1]] && strings.Contains(trx, state) {
			return true
		}
	}
	return false
}
