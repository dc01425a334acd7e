package rollup

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// An obstacle is what another client does to a table while slots hold something, such
// that base rows no longer take what is added to them.
type obstacle struct {
	name, dialect string
	deferred      bool // the table has defer_triggers
	up, down      []string
}

const (
	nullTrigger = "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
	keepTrigger = "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.views := OLD.views; RETURN NEW; END'"
	halfTrigger = "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.views := OLD.views + (NEW.views - OLD.views) / 2; RETURN NEW; END'"
	fire        = "CREATE TRIGGER stop BEFORE UPDATE ON posts FOR EACH ROW "
)

var (
	ignored   = []string{fire + "BEGIN SELECT RAISE(IGNORE); END"}
	dropped   = []string{"DROP TRIGGER stop ON posts"}
	obstacles = []obstacle{
		{"null", "postgres", false, []string{nullTrigger, fire + "EXECUTE FUNCTION stop()"}, dropped},
		{"null deferred", "postgres", true, []string{nullTrigger, fire + "EXECUTE FUNCTION stop()"}, dropped},
		{"kept", "postgres", true, []string{keepTrigger, fire + "EXECUTE FUNCTION stop()"}, dropped},
		{"halved", "postgres", true, []string{halfTrigger, fire + "EXECUTE FUNCTION stop()"}, dropped},
		{"one row", "postgres", true, []string{nullTrigger, fire + "WHEN (OLD.id = 2) EXECUTE FUNCTION stop()"}, dropped},
		{
			"rule",
			"postgres",
			false,
			[]string{"CREATE RULE stop AS ON UPDATE TO posts DO INSTEAD NOTHING"},
			[]string{"DROP RULE stop ON posts"},
		},
		{
			"smallint",
			"postgres",
			false,
			[]string{"ALTER TABLE posts ALTER views TYPE smallint"},
			[]string{"ALTER TABLE posts ALTER views TYPE bigint"},
		},
		{
			"rounded",
			"postgres",
			false,
			[]string{"ALTER TABLE posts ALTER views TYPE numeric(20,-3)"},
			[]string{"ALTER TABLE posts ALTER views TYPE bigint"},
		},
		{
			"real",
			"postgres",
			false,
			[]string{"ALTER TABLE posts ALTER views TYPE real USING views + 16777216"},
			[]string{"ALTER TABLE posts ALTER views TYPE bigint USING views::bigint - 16777216"},
		},
		{"ignored", "sqlite", false, ignored, []string{"DROP TRIGGER stop"}},
		{"ignored deferred", "sqlite", true, ignored, []string{"DROP TRIGGER stop"}},
		{"kept", "mysql", true, []string{fire + "SET NEW.views = OLD.views"}, []string{"DROP TRIGGER stop"}},
		{"one row", "mysql", true, []string{fire + "SET NEW.views = IF(OLD.id = 2, OLD.views, NEW.views)"}, []string{"DROP TRIGGER stop"}},
		{"kept unnoticed", "mysql", false, []string{fire + "SET NEW.views = OLD.views"}, []string{"DROP TRIGGER stop"}},
		{
			"smallint",
			"mysql",
			false,
			[]string{"ALTER TABLE posts MODIFY views SMALLINT NOT NULL"},
			[]string{"ALTER TABLE posts MODIFY views BIGINT NOT NULL"},
		},
		{
			"clipped",
			"mysql",
			false,
			[]string{"ALTER TABLE posts MODIFY views SMALLINT NOT NULL"},
			[]string{"ALTER TABLE posts MODIFY views BIGINT NOT NULL"},
		},
		{
			"float",
			"mysql",
			false,
			[]string{"ALTER TABLE posts MODIFY views FLOAT NOT NULL", "UPDATE posts SET views = 1e15"},
			[]string{"UPDATE posts SET views = 0", "ALTER TABLE posts MODIFY views BIGINT NOT NULL"},
		},
		{"one row", "sqlite", true, []string{fire + "WHEN OLD.id = 2 BEGIN SELECT RAISE(IGNORE); END"}, []string{"DROP TRIGGER stop"}},
	}
)

// counting is a table whose slots hold 40,000 for each of two rows.
func counting(t *testing.T, dialect, layout string, deferred bool) *twin.Pair {
	t.Helper()
	p := twin.New(t, twin.Options{
		Dialect: dialect,
		Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL)", "INSERT INTO posts VALUES (1, 0), (2, 0)"},
		Config: fmt.Sprintf(
			"version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}, slots: 8, placement: random, layout: %s, defer_triggers: %v}}\n",
			layout,
			deferred,
		),
	})
	for _, id := range []string{"1", "2"} {
		for _, n := range []string{"20000", "20000"} {
			execAll(t, p.Wrapped, "UPDATE posts SET views = views + "+n+" WHERE id = "+id)
		}
	}
	return p
}

// held is what base rows and slots hold together, as the database has it.
const held = "SELECT CAST(SUM(n) AS DECIMAL(20)) FROM (SELECT views AS n FROM posts UNION ALL SELECT views FROM posts_slots) x"

// What a roll-up or a drain takes out of slots arrives in the base rows, or nothing
// moves and the error says why. When the obstacle has gone everything moves.
func TestFoldConserves(t *testing.T) {
	for _, o := range obstacles {
		for _, layout := range []string{"dedicated", "journal"} {
			if layout == "journal" && o.dialect == "sqlite" && o.deferred {
				continue // as dedicated
			}
			t.Run(o.dialect+"/"+o.name+"/"+layout, func(t *testing.T) {
				t.Parallel()
				p := counting(t, o.dialect, layout, o.deferred)
				before := rows(t, p.Under, held)
				execAll(t, p.Under, o.up...)
				if o.name == "real" || o.name == "float" {
					before = rows(t, p.Under, held)
				}
				check := func(what string) {
					t.Helper()
					if after := rows(t, p.Under, held); after != before {
						t.Fatalf("%s: base rows and slots hold %s, want %s", what, after, before)
					}
				}
				r, err := slotsql.RollUp(t.Context(), twin.Connector(t, p), slotsql.RollUpOptions{})
				if err != nil && !errors.Is(err, slotsql.ErrNotMoved) {
					t.Error(err)
				}
				check("roll-up")
				for _, tr := range r.Tables {
					if tr.Err != nil && !errors.Is(tr.Err, slotsql.ErrNotMoved) {
						t.Errorf("roll-up: %v", tr.Err)
					}
				}
				if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil &&
					!errors.Is(err, slotsql.ErrNotMoved) {
					t.Errorf("drain: %v", err)
				}
				check("drain")
				for _, db := range []*sql.DB{p.Wrapped, fresh(t, p)} {
					for _, query := range []string{"UPDATE posts SET views = 5 WHERE id = 2", "UPDATE posts SET views = views * 2"} {
						tx, err := db.Begin()
						if err != nil {
							t.Fatal(err)
						}
						_, err = tx.Exec(query)
						if err == nil && o.name != "rounded" && o.name != "real" && o.name != "float" {
							t.Errorf("%s has run", query)
						}
						if err != nil {
							_ = tx.Commit()
							check(query)
						} else {
							_ = tx.Rollback()
						}
					}
				}
				execAll(t, p.Under, o.down...)
				if _, err := slotsql.Drain(t.Context(), twin.Connector(t, p), slotsql.DrainOptions{}); err != nil {
					t.Fatal(err)
				}
				if got := rows(
					t,
					p.Under,
					"SELECT id, views FROM posts ORDER BY id",
				); got != "1 40000\n2 40000" && o.name != "real" &&
					o.name != "float" {
					t.Errorf("at last: %s", got)
				}
			})
		}
	}
}

func fresh(t *testing.T, p *twin.Pair) *sql.DB {
	t.Helper()
	db := sql.OpenDB(twin.Connector(t, p))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// asRole is the data source of another role.
func asRole(t *testing.T, dsn, role string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("user", role)
	q.Set("password", role)
	u.RawQuery = q.Encode()
	return u.String()
}

// A row that row security hides from a role keeps its slots, whatever that role opens,
// drains or rolls up, before and after the policy has been noticed.
func TestHiddenRowsKeepTheirSlots(t *testing.T) {
	for _, key := range []string{"REFERENCES", "none"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			p := counting(t, "postgres", "dedicated", false)
			var name string
			if err := p.Under.QueryRow("SELECT current_database()").Scan(&name); err != nil {
				t.Fatal(err)
			}
			role := "r_" + strings.ToLower(strings.ReplaceAll(name, "-", "_"))
			execAll(t, p.Under, "CREATE ROLE "+role+" LOGIN PASSWORD '"+role+"'", "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
			t.Cleanup(func() { _, _ = p.Under.Exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
			if key == "none" {
				var fk string
				if err := p.Under.QueryRow(
					"SELECT conname FROM pg_constraint WHERE conrelid = 'posts_slots'::regclass AND contype = 'f'",
				).Scan(&fk); err != nil {
					t.Fatal(err)
				}
				execAll(t, p.Under, "ALTER TABLE posts_slots DROP CONSTRAINT "+fk)
			}
			theirs := *p
			theirs.WrappedDSN = asRole(t, p.WrappedDSN, role)
			running := fresh(t, &theirs)
			if err := running.Ping(); err != nil {
				t.Fatal(err)
			}
			execAll(t, p.Under, "ALTER TABLE posts ENABLE ROW LEVEL SECURITY", "CREATE POLICY visible ON posts USING (id = 1)")
			before := rows(t, p.Under, held)
			check := func(what string) {
				t.Helper()
				if after := rows(t, p.Under, held); after != before {
					t.Fatalf("%s: base rows and slots hold %s, want %s", what, after, before)
				}
			}
			_, _ = running.Exec("UPDATE posts SET views = views * 1")
			check("a drain that has not noticed")
			opened := fresh(t, &theirs)
			if got := rows(t, opened, "SELECT id, views FROM posts ORDER BY id"); got != "1 40000" {
				t.Errorf("the role reads %s", got)
			}
			check("connect")
			if _, err := opened.Exec("UPDATE posts SET views = views + 1 WHERE id = 1"); err != nil {
				t.Error(err)
			}
			if _, err := opened.Exec("UPDATE posts SET views = views - 1 WHERE id = 1"); err != nil {
				t.Error(err)
			}
			if r := rollUp(t, &theirs); len(r.Tables) != 1 || !errors.Is(r.Tables[0].Err, slotsql.ErrNotMoved) {
				t.Errorf("roll-up: %+v", r)
			}
			check("roll-up")
			if _, err := slotsql.Drain(
				t.Context(),
				twin.Connector(t, &theirs),
				slotsql.DrainOptions{},
			); !errors.Is(err, slotsql.ErrNotMoved) {
				t.Errorf("drain: %v", err)
			}
			check("drain")
			if _, err := opened.Exec("UPDATE posts SET views = 7 WHERE id = 1"); err != nil {
				t.Error(err)
			}
			if got := rows(
				t,
				p.Under,
				"SELECT id, views FROM posts UNION ALL SELECT id, SUM(views) FROM posts_slots WHERE id = 2 GROUP BY id ORDER BY 1, 2",
			); got != "1 7\n2 0\n2 40000" {
				t.Errorf("after setting the visible row: %s", got)
			}
			all := fresh(t, p) // the owner sees all rows
			if got := rows(t, all, "SELECT id, views FROM posts ORDER BY id"); got != "1 7\n2 40000" {
				t.Errorf("the owner reads %s", got)
			}
		})
	}
}
