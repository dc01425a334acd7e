package mysql

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Where MySQL must be asked in other words than MariaDB.
func TestWordsOfEitherServer(t *testing.T) {
	mysql, mariadb := New(), New()
	mysql.MySQL, mariadb.MariaDB = true, true
	table := &schema.Table{
		Name:    "posts",
		Columns: []schema.Column{{Name: "id", Type: "int"}, {Name: "views", Type: "int"}},
		Counter: &schema.Counter{Key: []string{"id"}, Counters: []string{"views"}, SlotTable: schema.SlotTable{Name: "posts_slots", Width: 3}},
	}
	scope := rewrite.Scope{Ref: "`posts`", Qualifier: "`posts`", Where: "`posts`.`id` = 1"}
	if q := mysql.TryLock(table, scope); q != "SELECT 1 FROM `posts` WHERE (`posts`.`id` = 1) FOR UPDATE NOWAIT" {
		t.Errorf("the lock that does not wait is %s", q)
	}
	if q := mariadb.TryLock(table, scope); q != "" {
		t.Errorf("MariaDB's UPDATE does not wait, and need not be preceded by %s", q)
	}
	base := baseTable(table) + " WRITE"
	if lock, _ := mysql.LockSlots(table); !strings.Contains(lock[0], base) {
		t.Errorf("without the base table: %s", lock)
	}
	if lock, _ := mariadb.LockSlots(table); strings.Contains(lock[0], base) {
		t.Errorf("MariaDB need not lock the base table: %s", lock)
	}
	if lock := mysql.Lock(table, scope)[0]; strings.Count(lock, " FOR UPDATE") != 2 {
		t.Errorf("the drain's lock does not ask for the slot table's columns: %s", lock)
	}
}
