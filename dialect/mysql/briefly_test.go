package mysql

import (
	"slices"
	"testing"
	"time"
)

// DDL that waits briefly leaves no setting and no variable in the session, with the statements of MySQL and with
// MariaDB's own.
func TestBrieflyRestores(t *testing.T) {
	const settings = "SELECT CONCAT_WS(',', @@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout, @slotsql_metadata, @slotsql_rows)"
	for name, d := range map[string]*Dialect{"MySQL": {MySQL: true}, "MariaDB": {MariaDB: true, NoWait: true}} {
		if !served(t).NoWait && d.NoWait {
			continue // SET STATEMENT
		}
		s := sessions(t, 1)[0]
		s.run("SET SESSION lock_wait_timeout = 7, innodb_lock_wait_timeout = 8", "CREATE TABLE t (n INT)")
		for _, c := range []struct {
			ddl      string
			run      int // how many of the statements run
			affected int64
		}{
			{"DROP TABLE t", -1, 0},
			{"DROP TABLE t", -1, -1051},
			{"DROP TABLE t", 0, 0},
		} {
			brief, restore := d.Briefly([]string{c.ddl}, 1500*time.Millisecond)
			if c.run == 0 {
				brief = nil
			}
			for i, q := range brief {
				want := int64(0)
				if i == len(brief)-1 {
					want = c.affected
				}
				if got := s.affected(q); got != want {
					t.Errorf("%s: %s gave %d, want %d", name, q, got, want)
				}
				if i == 1 {
					s.want("1,1,7,8", settings)
				}
			}
			s.run(slices.Concat(restore, restore)...)
			s.want("7,8", settings)
		}
	}
}
