package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

func TestIncrementAndTotal(t *testing.T) {
	s := sessions(t, 1)[0]
	s.run("CREATE TABLE posts (id INT PRIMARY KEY AUTO_INCREMENT, views INT, likes BIGINT UNSIGNED NOT NULL, price DECIMAL(10,2) NOT NULL)",
		"INSERT INTO posts VALUES (1, 10, 5, 1.50), (2, NULL, 0, 0)")
	tab := load(t, s, "posts", []string{"id"}, []string{"views", "likes", "price"}, 64)
	if n := s.affected(increment(tab, "p.id = ?", "?", "views", "?", true), 3, 7, 1); n != 1 {
		t.Errorf("affected %d", n)
	}
	if n := s.affected(increment(tab, "p.id = ?", "?", "views", "?", true), 3, 7, 1); n != 2 {
		t.Errorf("affected %d", n)
	}
	s.want("24", "SELECT "+served(t).Total(tab, "p", "views", false)+" - 0 FROM posts p WHERE id = 1")
	if n := s.affected(increment(tab, "p.id = 9", "1", "views", "1", true)); n != 0 {
		t.Errorf("missing row: affected %d", n)
	}
	if n := s.affected(increment(tab, "p.id = 2", "1", "views", "1", true)); n != 0 {
		t.Errorf("NULL counter: affected %d", n)
	}
	if got := total(s, tab, "views", "id = 2"); got != "NULL" {
		t.Errorf("NULL total is %s", got)
	}
	s.run(increment(tab, "p.id = 1", "1", "price", "-0.25", true), increment(tab, "p.id = 1", "2", "likes", "3", true))
	for column, want := range map[string]string{"views": "24", "likes": "8", "price": "1.25"} {
		if got := total(s, tab, column, "id = 1"); got != want {
			t.Errorf("%s is %s, want %s", column, got, want)
		}
	}
	// Unsigned arithmetic stays unsigned.
	_, err := s.Query(t.Context(), "SELECT "+served(t).Total(tab, "p", "likes", true)+" - 9 FROM posts p WHERE id = 1")
	if err == nil || !strings.Contains(err.Error(), "1690") {
		t.Errorf("unsigned underflow: %v", err)
	}
	rows, err := s.Conn.QueryContext(
		t.Context(),
		"SELECT "+served(t).Total(tab, "p", "likes", false)+", "+served(t).Total(tab, "p", "price", false)+", "+
			served(t).Total(tab, "p", "views", false)+" FROM posts p",
	)
	if err != nil {
		t.Fatal(err)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	var names []string
	for _, ty := range types {
		names = append(names, ty.DatabaseTypeName())
	}
	if got := strings.Join(names, ","); got != "UNSIGNED BIGINT,DECIMAL,BIGINT" {
		t.Errorf("types %s", got)
	}
	s.want("0", "SELECT LAST_INSERT_ID()")
}

// TestLimits walks to the edge: increments stop being slotted before a total
// could leave the column's range.
func TestLimits(t *testing.T) {
	s := sessions(t, 1)[0]
	s.run(
		"CREATE TABLE n (id INT PRIMARY KEY, i INT NOT NULL, u INT UNSIGNED NOT NULL, b BIGINT NOT NULL, ub BIGINT UNSIGNED NOT NULL, d DECIMAL(8,2) NOT NULL, s SMALLINT NOT NULL, t TINYINT NOT NULL)",
		"INSERT INTO n VALUES (1, 0, 0, 0, 0, 0, 0, 0)",
	)
	columns := []string{"i", "u", "b", "ub", "d", "s", "t"}
	tab := load(t, s, "n", []string{"id"}, columns, 4)
	for _, name := range columns {
		c := tab.Column(name)
		l := limit(c, &schema.Counter{Slots: 4})
		add := func(delta string) int64 { return s.affected(increment(tab, "p.id = 1", "0", name, delta, true)) }
		if l.slotHigh != "0" {
			if n := add(l.slotHigh); n < 1 {
				t.Errorf("%s: the cap itself gives %d", name, n)
			}
		}
		for _, delta := range []string{"1", "9223372036854775807", "18446744073709551615", "1e30"} {
			if n := add(delta); n >= 0 || !Overflow(uint16(-n)) {
				t.Errorf("%s: %s over the cap gives %d", name, delta, n)
			}
		}
		s.run("UPDATE n SET " + name + " = " + l.baseHigh)
		s.run("DELETE FROM n_slots")
		if n := add("1"); l.slotHigh != "0" && n != 1 {
			t.Errorf("%s: base at its limit gives %d", name, n)
		}
		s.run("UPDATE n SET " + name + " = " + name + " + 1")
		if n := add("1"); n != 0 && l.slotHigh != "0" {
			t.Errorf("%s: base over its limit gives %d", name, n)
		}
		// Full slots over a full base stay inside the column, whatever number of
		// slots processes have: each takes as much as it can, and no more.
		s.run("DELETE FROM n_slots", "UPDATE n SET "+name+" = "+l.baseHigh)
		fill := fmt.Sprintf("TRUNCATE(%s / (seq + 1), %d)", l.slotHigh, c.Scale)
		s.run("INSERT INTO n_slots (id, slot, " + name + ") SELECT 1, seq, " + fill + " FROM (SELECT seq - 1 AS seq FROM " + server.Series(4096) + ") AS z")
		for _, slot := range []string{"0", "1", "63", "64", "4095"} {
			if n := s.affected("UPDATE n_slots SET " + name + " = " + name + " + 1 WHERE slot = " + slot); n >= 0 || !Overflow(uint16(-n)) {
				t.Errorf("%s: one more in slot %s gives %d", name, slot, n)
			}
		}
		s.fold(tab, []any{1})
		s.want("0", "SELECT COUNT(*) FROM n_slots")
		if n := s.affected("INSERT INTO n_slots (id, slot) VALUES (1, 4096)"); n >= 0 {
			t.Errorf("slot number over the limit gives %d", n)
		}
	}
}

func TestFold(t *testing.T) {
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
		t.Run(level, func(t *testing.T) {
			d := served(t)
			s := sessions(t, 1)[0]
			s.run(
				"SET SESSION TRANSACTION ISOLATION LEVEL "+level,
				"CREATE TABLE posts (id INT, lang VARCHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, slug VARCHAR(9) NOT NULL UNIQUE, views INT, likes INT NOT NULL,"+
					" changed TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), PRIMARY KEY (id, lang))",
				"INSERT INTO posts VALUES (1,'en','a',1,1,'2020-01-01'),(1,'EN','b',2,2,'2020-01-01'),(3,'de','c',3,3,'2020-01-01')",
			)
			tab := load(t, s, "posts", []string{"id", "lang"}, []string{"views", "likes"}, 64)
			for _, slot := range []string{"0", "5", "64"} {
				s.run(increment(tab, "slug = 'a'", slot, "views", "10", false),
					increment(tab, "id = 1 AND lang = 'EN'", slot, "likes", "-7", true),
					increment(tab, "slug = 'c'", slot, "views", "1", false))
			}
			s.run("BEGIN")
			s.run(d.Lock(tab, keyed(tab, "slug = 'a'"))...)
			s.fold(tab, []any{1, "656E"})
			s.run("COMMIT")
			s.want("31 2 3", "SELECT GROUP_CONCAT(views ORDER BY slug SEPARATOR ' ') FROM posts")
			s.want("6", "SELECT COUNT(*) FROM posts_slots")
			s.fold(tab, []any{1, "656E"})
			s.run("BEGIN")
			s.run(d.Lock(tab, rewrite.Scope{})...)
			s.fold(tab)
			s.run("ROLLBACK")
			s.want("6", "SELECT COUNT(*) FROM posts_slots")
			s.run("BEGIN")
			s.run(d.Lock(tab, rewrite.Scope{})...)
			s.fold(tab)
			s.run("COMMIT")
			s.want("31 2 6", "SELECT GROUP_CONCAT(views ORDER BY slug SEPARATOR ' ') FROM posts")
			s.want("1 -19 3", "SELECT GROUP_CONCAT(likes ORDER BY slug SEPARATOR ' ') FROM posts")
			s.want("0", "SELECT COUNT(*) FROM posts_slots")
			s.want("3", "SELECT COUNT(*) FROM posts WHERE changed = '2020-01-01'")
		})
	}
}

// TestFoldReadsTheLatest holds that a drain late in a REPEATABLE READ
// transaction moves what was committed since its snapshot, in a session of slotsql's own.
func TestFoldReadsTheLatest(t *testing.T) {
	s := sessions(t, 2)
	d, err := ForServer(t.Context(), s[0])
	if err != nil {
		t.Fatal(err)
	}
	s[0].run(d.OwnSettings()...)
	s[0].run("CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)", "INSERT INTO posts VALUES (1, 0), (2, 0)")
	tab := load(t, s[0], "posts", []string{"id"}, []string{"views"}, 64)
	for i, keys := range [][][]any{{{1}}, nil} {
		scope := rewrite.Scope{}
		if keys != nil {
			scope = keyed(tab, "id = 1")
		}
		s[0].run("BEGIN", "SELECT * FROM posts, posts_slots")
		s[1].run(increment(tab, "id = 1", "1", "views", "5", true))
		s[0].run(d.Lock(tab, scope)...)
		s[0].fold(tab, keys...)
		s[0].run("COMMIT")
		s[0].want([]string{"5", "10"}[i], "SELECT views FROM posts WHERE id = 1")
		s[0].want("0", "SELECT COUNT(*) FROM posts_slots")
	}
	// A row that comes to be during a drain keeps its slots.
	s[0].run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN")
	s[0].run(d.Lock(tab, rewrite.Scope{})...)
	made := 0
	s[0].foldBetween(func() {
		s[1].run("INSERT INTO posts VALUES ("+dialect.String(10+made)+", 100)", increment(tab, "id = "+dialect.String(10+made), "1", "views", "5", true))
		made++
	}, tab)
	s[0].run("COMMIT")
	s[0].want("10 0 105 105 105", "SELECT GROUP_CONCAT("+d.Total(tab, "p", "views", false)+" ORDER BY id SEPARATOR ' ') FROM posts p")
}

// TestNames uses names that need quoting everywhere.
func TestNames(t *testing.T) {
	d := served(t)
	s := sessions(t, 1)[0]
	long := strings.Repeat("x", 58)
	for _, n := range []string{"a b`c#", "select", long, `back\slash "q"`} {
		base := quote(n)
		s.run(
			"CREATE TABLE "+base+" (`ke``y` CHAR(3) CHARACTER SET latin1 COLLATE latin1_german1_ci PRIMARY KEY, `group by` INT NOT NULL)",
			"INSERT INTO "+base+" VALUES ('a', 1)",
		)
		tab := load(t, s, n, []string{"ke`y"}, []string{"group by"}, 16)
		s.run(increment(tab, "`ke``y` = 'A'", "1", "group by", "2", true))
		if got := total(s, tab, "group by", "1"); got != "3" {
			t.Errorf("%s: total %s", n, got)
		}
		s.run(d.Lock(tab, keyed(tab, "`ke``y` = 'a'"))...)
		s.fold(tab, []any{"61"})
		s.want("3", "SELECT `group by` FROM "+base)
		s.run(increment(tab, "`ke``y` = 'A'", "1", "group by", "2", true), "UPDATE "+base+" SET `ke``y` = 'b'")
		if got := total(s, tab, "group by", "1"); got != "5" {
			t.Errorf("%s: total %s after the key changed", n, got)
		}
		s.run("REPLACE INTO " + base + " VALUES ('b', 9)")
		want := "9"
		if v := server.MySQLVersion(t); v.MySQL && v.AtLeast(9, 6) {
			want = "11" // the slots stay: see keepsReplaced
		}
		if got := total(s, tab, "group by", "1"); got != want {
			t.Errorf("%s: total %s after REPLACE", n, got)
		}
		s.run(increment(tab, "`ke``y` = 'b'", "1", "group by", "2", true))
		_, before, after := d.Truncate(tab)
		s.run(before...)
		s.run("TRUNCATE TABLE " + base)
		s.run(after...)
		s.run("INSERT INTO " + base + " VALUES ('b', 1)")
		if got := total(s, tab, "group by", "1"); got != "1" {
			t.Errorf("%s: total %s after TRUNCATE", n, got)
		}
		s.run(increment(tab, "`ke``y` = 'b'", "1", "group by", "2", true))
		s.run(before...)
		s.run(after...)
		if got := total(s, tab, "group by", "1"); got != "3" {
			t.Errorf("%s: total %s after a TRUNCATE that failed", n, got)
		}
		s.run("DELETE FROM " + base)
		s.want("0", "SELECT COUNT(*) FROM "+slotTable(tab))
		s.run(d.DropSlots(tab)...)
	}
}
