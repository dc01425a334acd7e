package others

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

// Tools that copy a table beside load and swap it with the copy, as pt-online-schema-change does with triggers, lose no count
// where the slot table has no foreign key.
func TestTableIsSwapped(t *testing.T) {
	s := serve(t, "mysql", server.Logged(t, "mysql"), ", foreign_keys: false")
	s.visits(t, 0, 3)
	const row = "REPLACE INTO _posts_new (id, title, views) VALUES (NEW.id, NEW.title, NEW.views)"
	s.during(t, func() {
		twin.ExecAll(t, s.plain, "CREATE TABLE _posts_new LIKE posts", "ALTER TABLE _posts_new ADD COLUMN body TEXT",
			"CREATE TRIGGER osc_del AFTER DELETE ON posts FOR EACH ROW DELETE IGNORE FROM _posts_new WHERE id = OLD.id",
			"CREATE TRIGGER osc_upd AFTER UPDATE ON posts FOR EACH ROW "+row,
			"CREATE TRIGGER osc_ins AFTER INSERT ON posts FOR EACH ROW "+row,
			"INSERT LOW_PRIORITY IGNORE INTO _posts_new (id, title, views) SELECT id, title, views FROM posts LOCK IN SHARE MODE",
			"RENAME TABLE posts TO _posts_old, _posts_new TO posts",
			"DROP TABLE _posts_old")
	})
	s.visits(t, 3, 6)
	whole(t, s.plain)
	want(t, s.db, base, twin.Rows(t, s.plain, visits))
	s.moved(t)
	want(t, s.db, "SELECT body FROM posts WHERE id = 1", "NULL")
}

// A dump of the schema has what slotsql has added: the slot table, the function and the view.
func TestSchemaDump(t *testing.T) {
	s := serve(t, "postgres", server.Logged(t, "postgres"), "")
	for _, add := range []string{"CREATE TABLE public.posts_slots", "ADD CONSTRAINT posts_slots_", "CREATE FUNCTION public.posts_count", "CREATE VIEW public.posts_totals"} {
		if dump := s.dump(t, "--schema-only"); !strings.Contains(dump, add) {
			t.Errorf("no %s in %s", add, dump)
		}
	}
}
