package mysql

import (
	"fmt"
	"testing"
)

const innodbStatus = `
=====================================
2026-01-02 03:04:05 0x7f1 INNODB MONITOR OUTPUT
=====================================
------------------------
LATEST DETECTED DEADLOCK
------------------------
2026-01-02  3:04:01 0x7f2
*** (1) TRANSACTION:
TRANSACTION 55, ACTIVE 0 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s), undo log entries 1
MariaDB thread id 12, OS thread handle 140, query id 90 localhost root Updating
UPDATE posts SET views = views + 1
WHERE id = 8
*** WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 5 page no 3 n bits 320 index PRIMARY of table ` + "`shop`.`po``sts`" + ` trx id 55 lock_mode X locks rec but not gap waiting
*** CONFLICTING WITH:
RECORD LOCKS space id 5 page no 3 n bits 320 index PRIMARY of table ` + "`shop`.`other`" + ` trx id 56 lock_mode X locks rec but not gap

*** (2) TRANSACTION:
TRANSACTION 56, ACTIVE 0 sec starting index read
MariaDB thread id 13, OS thread handle 141, query id 91 localhost root Updating
UPDATE posts SET title = 'x' WHERE id = 7
*** WAITING FOR THIS LOCK TO BE GRANTED:
*** WE ROLL BACK TRANSACTION (2)
------------
TRANSACTIONS
------------
Trx id counter 60
MariaDB thread id 14, OS thread handle 142, query id 99 localhost root starting
SHOW ENGINE INNODB STATUS
`

func TestReadDeadlock(t *testing.T) {
	d := readDeadlock(innodbStatus)
	if d == nil {
		t.Fatal("not found")
	}
	if got, want := fmt.Sprintf("%s|%s|%s|%q", d.At, d.Schema, d.Table, d.Statements),
		`2026-01-02 3:04:01|shop|po`+"`"+`sts|["UPDATE posts SET views = views + 1\nWHERE id = 8" "UPDATE posts SET title = 'x' WHERE id = 7"]`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, s := range []string{"", "LATEST DETECTED DEADLOCK", "LATEST DETECTED DEADLOCK\n---\n2026-01-02 03:04:05 \n*** (1)"} {
		if d := readDeadlock(s); d != nil {
			t.Errorf("%q: %+v", s, d)
		}
	}
}
