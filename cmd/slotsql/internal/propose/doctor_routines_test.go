package propose_test

import (
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/integration/twin"
)

// counted are a trigger and a procedure that count views, after a table of their own.
var counted = map[string][]string{
	"mysql": {
		"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW UPDATE posts SET views = views + 1 WHERE id = NEW.post_id",
		"CREATE PROCEDURE visit(p INT) UPDATE posts SET views = views + 1 WHERE id = p",
	},
	"postgres": {
		"CREATE FUNCTION comment_added() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE posts SET views = views + 1 WHERE id = NEW.post_id; RETURN NEW; END'",
		"CREATE TRIGGER commented AFTER INSERT ON comments FOR EACH ROW EXECUTE FUNCTION comment_added()",
		"CREATE PROCEDURE visit(p INT) LANGUAGE plpgsql AS 'BEGIN UPDATE posts SET views = views + 1 WHERE id = p; END'",
	},
}

// Sessions that wait inside a trigger or a procedure are told from those that increment by themselves, before the counter is
// configured and after.
func TestDoctorNamesTriggers(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		twin.ExecAll(t, p.Under, "CREATE TABLE comments (post_id INT NOT NULL)")
		twin.ExecAll(t, p.Under, counted[dialect]...)
		contend(t, p, "UPDATE posts SET title = 'x' WHERE id = 7", "INSERT INTO comments VALUES (7)", "CALL visit(7)")
		const trigger = "trigger commented of table comments adds to the row: slotsql ddl --functions --triggers prints"
		by := func(s *doctor.Spot) (out string) {
			for _, st := range s.Statements {
				out += st.By + " " + st.Class + ", "
			}
			return out
		}
		r := seen(t, p, 2, doctor.Options{})
		s := r.Spots[0]
		if len(r.Spots) != 1 || s.Verdict != "yes" || !strings.Contains(s.Why, trigger) || !strings.Contains(by(s), "commented of table comments additive, ") ||
			!strings.Contains(by(s), "procedure visit") {
			t.Fatalf("%+v: %s", s, by(s))
		}
		if want := "version: 1\nauto_migrate: true\ntables:\n  posts:\n    counters:\n      views:\n"; r.Propose != want {
			t.Errorf("proposed\n%s\nnot\n%s", r.Propose, want)
		}
		config, err := slotsql.Parse([]byte(r.Propose), "proposal")
		if err != nil {
			t.Fatal(err)
		}
		s = seen(t, p, 2, doctor.Options{Config: config}).Spots[0]
		if s.Verdict != "configured" || !strings.Contains(s.Why, " adds to the row: slotsql ddl --functions --triggers prints") {
			t.Errorf("%+v", s)
		}
		if config, err = slotsql.Parse([]byte("version: 1\ntables: {posts: {slots: 0, counters: {views: {}}}}\n"), "slotsql.yaml"); err != nil {
			t.Fatal(err)
		}
		if s = seen(t, p, 2, doctor.Options{Config: config}).Spots[0]; !strings.Contains(s.Why, "write slots: 64") {
			t.Errorf("%+v %s", s, by(s))
		}
	})
}
