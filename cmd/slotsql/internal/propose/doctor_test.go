package propose_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	"github.com/slotsql/slotsql/dialect"
	mysqldialect "github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/integration/server"
	"github.com/slotsql/slotsql/integration/twin"
)

var plainDialects = map[string]dialect.Dialect{"mysql": mysqldialect.New(), "postgres": postgres.New(), "sqlite": sqlite.New()}

const doctorConfig = `version: 1
auto_migrate: true
tables:
  pages: {counters: {hits: {}}}
`

func doctorPair(t *testing.T, dialect string) *twin.Pair {
	t.Helper()
	// Who waits is not to give up before the test ends.
	params := map[string]string{"mysql": "innodb_lock_wait_timeout=100000"}[dialect]
	return twin.New(t, twin.Options{Dialect: dialect, Config: doctorConfig, Params: params, Schema: []string{
		"CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL, seen INT)",
		"CREATE TABLE pages (site INT NOT NULL, path VARCHAR(20) NOT NULL, title VARCHAR(20), hits BIGINT NOT NULL, PRIMARY KEY (site, path))",
		"INSERT INTO posts VALUES (7, 'seven', 0, 0), (8, 'eight', 0, 0)",
		"INSERT INTO pages VALUES (1, 'it''s', '', 0)",
	}})
}

// explain opens the planner as the command does.
func explain(t *testing.T, p *twin.Pair) func(context.Context, *slotsql.Config) (*slotsql.Explainer, error) {
	name := twin.Wrapped[p.Dialect]
	return func(ctx context.Context, config *slotsql.Config) (*slotsql.Explainer, error) {
		c, err := slotsql.OpenConnector(name, p.WrappedDSN, slotsql.WithConfig(config))
		if err != nil {
			return nil, err
		}
		return slotsql.NewExplainer(ctx, c)
	}
}

// contend has another session lock rows in a transaction, and others wait for them,
// until the test ends.
func contend(t *testing.T, p *twin.Pair, holding string, waiting ...string) {
	t.Helper()
	holder, err := p.Under.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	twin.ExecAll(t, holder, holding)
	done := make(chan error, len(waiting))
	for _, q := range waiting {
		go func() {
			_, err := p.Under.ExecContext(context.WithoutCancel(t.Context()), q)
			done <- err
		}()
	}
	t.Cleanup(func() {
		_ = holder.Rollback()
		for range waiting {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// seen looks until so many wait. MariaDB renews its lists of locks when no one
// has asked for 0.1 s, so tests that look side by side must not keep step.
func seen(t *testing.T, p *twin.Pair, waits int, o doctor.Options) *doctor.Report {
	t.Helper()
	return seenBy(t, p, p.Under, waits, o)
}

// seenBy is seen by an account of its own.
func seenBy(t *testing.T, p *twin.Pair, db *sql.DB, waits int, o doctor.Options) *doctor.Report {
	t.Helper()
	o.Explain, o.Propose = explain(t, p), propose.ForDoctor
	return looked(t, p, db, waits, o)
}

// looked looks, with these options, until so many wait.
func looked(t *testing.T, p *twin.Pair, db *sql.DB, waits int, o doctor.Options) *doctor.Report {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(150*time.Millisecond + rand.N(300*time.Millisecond)) {
		r, err := doctor.Look(t.Context(), db, plainDialects[p.Dialect], o)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range r.Spots {
			n += s.Most
		}
		if n >= waits {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d waits were seen: %+v", n, waits, r)
		}
	}
}

// A hot row is found with its table, key and statements, and the lines that would
// help come with it.
func TestDoctor(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		if dialect == "sqlite" {
			if _, err := doctor.Look(t.Context(), p.Under, plainDialects[dialect], doctor.Options{}); err != doctor.ErrNothing {
				t.Errorf("%v", err)
			}
			return
		}
		quiet, err := doctor.Look(
			t.Context(),
			p.Under,
			plainDialects[dialect],
			doctor.Options{For: 10 * time.Millisecond, Every: time.Millisecond},
		)
		if err != nil || quiet.Looks < 1 || len(quiet.Lacks) > 0 {
			t.Errorf("%+v, %v", quiet, err)
		}
		elsewhere := doctorPair(t, dialect) // of another database, which is not to be shown
		contend(t, elsewhere, "UPDATE posts SET views = views + 1 WHERE id = 7", "UPDATE posts SET views = views + 2 WHERE id = 7")
		seen(t, elsewhere, 1, doctor.Options{})
		contend(
			t,
			p,
			"UPDATE posts SET views = views + 1 WHERE id = 7",
			"UPDATE posts SET views = views + 2 WHERE id = 7",
			"UPDATE posts SET views = views + 3, seen = 5 WHERE id = 7",
			"UPDATE posts SET title = 'secret' WHERE id = 7",
		)
		contend(t, p, "UPDATE posts SET title = 'x' WHERE id = 8", "UPDATE posts SET title = 'secret' WHERE id = 8")
		r := seen(t, p, 4, doctor.Options{})
		if len(r.Spots) != 2 {
			t.Fatalf("%d spots: %+v", len(r.Spots), r)
		}
		hot, cold := r.Spots[0], r.Spots[1]
		if hot.Table != "posts" || hot.Key["id"] != "7" || hot.Most != 3 || hot.Verdict != "partly" || len(hot.Statements) != 3 {
			t.Errorf("%+v", hot)
		}
		if cold.Table != "posts" || cold.Key["id"] != "8" || cold.Most != 1 || cold.Verdict != "no" {
			t.Errorf("%+v", cold)
		}
		idle := 0
		for _, s := range r.Spots {
			for _, h := range s.Holders {
				if h.Idle {
					idle++
				}
				if strings.Contains(h.SQL, "secret") {
					t.Errorf("a value is shown: %s", h.SQL)
				}
			}
			for _, st := range s.Statements {
				if strings.Contains(st.SQL, "secret") {
					t.Errorf("a value is shown: %s", st.SQL)
				}
				want := "pass-through"
				if strings.Contains(st.SQL, "views") {
					want = "additive"
				}
				if st.Class != want {
					t.Errorf("%s is %q: %s", st.SQL, st.Class, st.Reason)
				}
			}
		}
		if idle < 2 {
			t.Errorf("%d holders are seen to be idle", idle)
		}
		if want := "version: 1\nauto_migrate: true\ntables:\n  posts:\n    counters:\n      views:\n    companions:\n      seen: latest\n"; r.Propose != want {
			t.Errorf("proposed\n%s\nnot\n%s", r.Propose, want)
		}
		if _, err := slotsql.Parse([]byte(r.Propose), "proposal"); err != nil {
			t.Error(err)
		}
	})
}

// Without anything that proposes a configuration the waits are shown, and what would help is not known.
func TestDoctorProposesNothing(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		contend(t, p, "UPDATE posts SET views = views + 1 WHERE id = 7", "UPDATE posts SET views = views + 2 WHERE id = 7")
		r := looked(t, p, p.Under, 1, doctor.Options{})
		if len(r.Spots) != 1 || r.Spots[0].Verdict != "unknown" || r.Spots[0].Key["id"] != "7" || r.Propose != "" {
			t.Errorf("%+v", r)
		}
	})
}

// With a configuration it knows the tables that have slots, and warns of
// statements that write whole rows back.
func TestDoctorConfigured(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		config, err := slotsql.Load(p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		where := " WHERE site = 1 AND path = 'it''s'"
		contend(
			t,
			p,
			"UPDATE pages SET title = 'x'"+where,
			"UPDATE pages SET hits = hits + 1"+where,
			"UPDATE pages SET title = 'secret', hits = 17"+where,
		)
		r := seen(t, p, 2, doctor.Options{Config: config})
		if len(r.Spots) != 1 || r.Spots[0].Verdict != "configured" || r.Spots[0].Key["path"] != "it's" || r.Spots[0].Key["site"] != "1" ||
			r.Propose != "" {
			t.Errorf("%+v", r.Spots[0])
		}
		if len(r.Saves) != 1 || r.Saves[0].Table != "pages" || fmt.Sprint(r.Saves[0].Counters) != "[hits]" ||
			strings.Contains(r.Saves[0].SQL, "secret") {
			t.Errorf("%+v", r.Saves)
		}
	})
}

// The latest deadlock is reported (MariaDB): the server remembers one, of any
// database, so that another one may have come in between.
func TestDoctorDeadlock(t *testing.T) {
	p := doctorPair(t, "mysql")
	for deadline := time.Now().Add(5 * time.Minute); ; {
		a, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Under.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.ExecAll(t, a, "UPDATE posts SET views = 1 WHERE id = 7")
		twin.ExecAll(t, b, "UPDATE posts SET views = 1 WHERE id = 8")
		done := make(chan error, 1)
		go func() {
			_, err := a.ExecContext(t.Context(), "UPDATE posts SET views = 2 WHERE id = 8")
			done <- err
		}()
		_, err = b.ExecContext(t.Context(), "UPDATE posts SET title = 'secret' WHERE id = 7")
		if err != nil { // else the other one has been told
			_ = b.Rollback()
		}
		other := <-done
		_ = b.Rollback()
		_ = a.Rollback()
		if err == nil && other == nil {
			t.Fatal("no deadlock")
		}
		r, err := doctor.Look(t.Context(), p.Under, plainDialects["mysql"], doctor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := r.Deadlock; d != nil {
			if got := strings.Join(
				d.Statements,
				"\n",
			); d.Table != "posts" || !strings.Contains(got, "UPDATE posts SET views = ? WHERE id = ?") ||
				!strings.Contains(got, "UPDATE posts SET title = ? WHERE id = ?") {
				t.Errorf("%+v", d)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the deadlock is not told")
		}
	}
}

// The report names the rights that an account lacks, and these suffice.
func TestDoctorRights(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		name := fmt.Sprintf("doctor_%d", time.Now().UnixNano())
		dsn := p.WrappedDSN
		admin := func(q string) {
			t.Helper()
			twin.ExecAll(t, p.Under, q)
		}
		switch dialect {
		case "mysql":
			c, err := mysql.ParseDSN(dsn)
			if err != nil {
				t.Fatal(err)
			}
			admin("CREATE USER '" + name + "'@'localhost' IDENTIFIED BY 'pw'")
			admin("GRANT SELECT ON `" + c.DBName + "`.* TO '" + name + "'@'localhost'")
			t.Cleanup(func() { _, _ = p.Under.Exec("DROP USER '" + name + "'@'localhost'") })
			c.User, c.Passwd = name, "pw"
			dsn = c.FormatDSN()
		case "postgres":
			admin("CREATE ROLE " + name + " LOGIN")
			admin("GRANT SELECT ON posts TO " + name)
			t.Cleanup(func() { _, _ = p.Under.Exec("DROP OWNED BY " + name + "; DROP ROLE " + name) })
			dsn = withUser(t, dsn, name)
		}
		db, err := sql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx"}[dialect], dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		contend(t, p, "UPDATE posts SET views = views + 1 WHERE id = 7", "UPDATE posts SET views = views + 2 WHERE id = 7")
		seen(t, p, 1, doctor.Options{}) // by an account that may
		r, err := doctor.Look(t.Context(), db, plainDialects[dialect], doctor.Options{Explain: explain(t, p), Propose: propose.ForDoctor})
		lacks := 1
		if dialect == "mysql" && server.MySQLVersion(t).MySQL { // locks are in performance_schema
			lacks = 2
		}
		if err != nil || len(r.Lacks) != lacks {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, l := range r.Lacks {
			admin(l.Grant)
		}
		db.SetMaxIdleConns(0) // rights of a session are those of its beginning
		if r = seenBy(t, p, db, 1, doctor.Options{}); len(r.Lacks) != 0 || r.Spots[0].Key["id"] != "7" || r.Spots[0].Verdict != "yes" {
			t.Errorf("after the GRANT: %+v", r)
		}
	})
}
