package session

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

const told = "CREATE TRIGGER told AFTER UPDATE ON posts FOR EACH ROW INSERT INTO log (id, note) SELECT COALESCE(MAX(id), 0) + 1, CONCAT(OLD.views, ' ', NEW.views) FROM log"

// triggerRights are ways to have the privilege TRIGGER on posts, or not; DB stands for the database.
var triggerRights = map[string]struct {
	grants []string
	sees   bool
}{
	"none":              {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app"}, false},
	"columns":           {[]string{"GRANT SELECT (id, views, likes, title), UPDATE (views, likes) ON posts TO app"}, false},
	"much else":         {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, REFERENCES, DROP ON `DB`.* TO app"}, false},
	"table":             {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON posts TO app"}, true},
	"everything":        {[]string{"GRANT ALL PRIVILEGES ON posts TO app"}, true},
	"another table":     {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app", "GRANT TRIGGER ON log TO app"}, false},
	"database":          {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON `DB`.* TO app"}, true},
	"everything there":  {[]string{"GRANT ALL PRIVILEGES ON `DB`.* TO app"}, true},
	"escaped":           {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON `ESCAPED`.* TO app"}, true},
	"pattern":           {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON `ESCAPE%`.* TO app"}, true},
	"narrower database": {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON `DB`.* TO app", "GRANT TRIGGER ON `ESCAPE%`.* TO app"}, false},
	"global":            {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON *.* TO app"}, true},
	"role":              {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app", "GRANT TRIGGER ON posts TO ROLE", "SET DEFAULT ROLE ROLE FOR app"}, true},
	"role of a role":    {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON `DB`.* TO app", "GRANT TRIGGER ON `DB`.* TO INNER", "SET DEFAULT ROLE ROLE FOR app"}, true},
	"disabled role":     {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app", "GRANT TRIGGER ON posts TO ROLE"}, false},
	"public":            {[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON posts TO app", "GRANT TRIGGER ON posts TO PUBLIC"}, true},
}

// An account without the privilege TRIGGER, which does not see the triggers of a table, has them fire as with
// the plain driver. Who has it, in whatever way, counts in slots where there are none.
func TestTriggersOfAccounts(t *testing.T) {
	for name, c := range triggerRights {
		for _, there := range []bool{false, true} {
			if name == "public" && server.MySQLVersion(t).MySQL {
				continue // it has no such role
			}
			t.Run(name+map[bool]string{true: ", a trigger"}[there], func(t *testing.T) {
				t.Parallel()
				tables := schema("mysql")
				if there {
					tables = append(tables, told)
				}
				p := twin.New(t, twin.Options{Dialect: "mysql", Schema: tables, Config: always})
				twin.ExecAll(t, p.Wrapped, "UPDATE posts SET likes = likes + 1 WHERE id = 3") // makes the slot table
				twin.ExecAll(t, p.Plain, "UPDATE posts SET likes = likes + 1 WHERE id = 3")
				a := newAccounts(t, p)
				grantTriggers(t, a, c.grants)
				s := a.pair(t)
				var seen bool // the server's own answer
				if err := s.plain.(*sql.DB).QueryRow("SELECT COUNT(*) > 0 FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE()").Scan(&seen); err != nil || seen != (c.sees && there) {
					t.Fatalf("it sees a trigger: %v, %v", seen, err)
				}
				for _, q := range []string{
					"UPDATE posts SET views = views + 1 WHERE id = 1",
					"UPDATE posts SET views = views + 1 WHERE id = 1",
					"UPDATE posts SET views = views + 5, title = 'x' WHERE id = 2",
					"UPDATE posts SET views = views + 5 WHERE id = 2",
					"INSERT INTO posts (id, views) VALUES (3, 1) ON DUPLICATE KEY UPDATE views = views + 1",
					"SELECT views FROM posts WHERE id = 1",
				} {
					if name == "columns" && strings.HasPrefix(q, "INSERT") {
						continue
					}
					s.same(t, twin.Statement{SQL: q})
					p.Same(t, twin.Statement{SQL: "SELECT * FROM log ORDER BY id"})
				}
				slots := "0"
				if c.sees && !there {
					slots = "3"
				}
				var got string
				if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE views <> 0").Scan(&got); err != nil || got != slots {
					t.Errorf("%s slot rows, want %s: %v", got, slots, err)
				}
				status := statusFor(t, p, a.wrapped)
				if names := strings.Contains(status.Reason, "GRANT TRIGGER ON `"); names == c.sees || status.Slotted != (c.sees && !there) {
					t.Errorf("slotted is %v: %s", status.Slotted, status.Reason)
				}
				p.Same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"}) // in a slot, by another account
				s.same(t, twin.Statement{SQL: "SELECT id, views, likes FROM posts ORDER BY id"})
				p.Same(t, twin.Statement{SQL: totals})
			})
		}
	}
}

// With defer_triggers an account that does not see triggers counts in slots, but not by an upsert, which triggers on
// INSERT may see.
func TestDeferredTriggersOfAccounts(t *testing.T) {
	t.Parallel()
	tables := append(schema("mysql"), strings.NewReplacer("AFTER UPDATE", "BEFORE INSERT", "OLD.views", "NEW.id").Replace(told))
	p := twin.New(t, twin.Options{Dialect: "mysql", Schema: tables, Config: strings.Replace(always, "slots:", "defer_triggers: true, slots:", 1)})
	p.Same(t, twin.Statement{SQL: "UPDATE posts SET likes = likes + 1 WHERE id = 3"})
	a := newAccounts(t, p)
	grantTriggers(t, a, triggerRights["none"].grants)
	s := a.pair(t)
	s.same(t, twin.Statement{SQL: "UPDATE posts SET views = views + 1 WHERE id = 1"})
	var slots int
	if err := p.Under.QueryRow("SELECT COUNT(*) FROM posts_slots WHERE views <> 0").Scan(&slots); err != nil || slots != 1 {
		t.Errorf("%d slot rows: %v", slots, err)
	}
	s.same(t, twin.Statement{SQL: "INSERT INTO posts (id, views) VALUES (3, 1) ON DUPLICATE KEY UPDATE views = views + 1"})
	p.Same(t, twin.Statement{SQL: "SELECT * FROM log ORDER BY id"})
	p.Same(t, twin.Statement{SQL: totals})
}

// grantTriggers grants these rights on both sides. ROLE is a role of the account, and INNER a role of that.
func grantTriggers(t *testing.T, a *accounts, grants []string) {
	t.Helper()
	role, inner, mysql := "role_"+a.name, "inner_"+a.name, server.MySQLVersion(t).MySQL
	twin.ExecAll(t, a.p.Plain, "CREATE ROLE "+role, "CREATE ROLE "+inner, "GRANT "+inner+" TO "+role, "GRANT "+role+" TO "+a.name)
	t.Cleanup(func() { _, _ = a.p.Plain.Exec("DROP ROLE " + role + ", " + inner) })
	for _, db := range []*sql.DB{a.p.Plain, a.p.Under} {
		var name string
		if err := db.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		escaped := strings.ReplaceAll(name, "_", `\_`)
		for _, g := range grants {
			if mysql {
				g = strings.Replace(g, "ROLE FOR", "ROLE TO", 1)
			}
			g = strings.NewReplacer("`DB`", "`"+name+"`", "ESCAPED", escaped, "ESCAPE%", escaped[:len(escaped)-1]+"%", "TO ROLE", "TO "+role, "ROLE ROLE", "ROLE "+role, "INNER", inner).Replace(g)
			twin.ExecAll(t, db, a.named(g))
		}
	}
	twin.ExecAll(t, a.p.Under, "GRANT SELECT, INSERT, UPDATE, DELETE ON posts_slots TO "+a.name)
}
