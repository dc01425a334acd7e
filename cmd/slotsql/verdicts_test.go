package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/propose"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/internal/digest"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
	"github.com/slotsql/slotsql/status"
)

// judgement is what a tool makes of a statement.
type judgement struct{ Class, Verdict, Reason string }

// TestVerdicts compares what init, check, doctor, explain and the status page make of the statements of the corpus that
// change counters, with what init proposes for each application: the same, in the same words.
func TestVerdicts(t *testing.T) {
	compared := map[string]int{}
	for _, apps := range applications(t) {
		for _, app := range apps {
			t.Run(app.App, func(t *testing.T) { // one at a time: the page counts for the whole process
				app.compare(t, app.engine(), compared)
			})
		}
	}
	t.Logf("statements that were compared with what explain says: %v", compared)
	for _, tool := range []string{"init", "check", "doctor", "page"} {
		if compared[tool] < 60 {
			t.Errorf("%s: %d statements", tool, compared[tool])
		}
	}
}

func (a corpusApplication) compare(t *testing.T, e testedEngine, compared map[string]int) {
	dsn, db := e.database(t, slices.Concat(a.DDL, a.SeedRows)...)
	rules := engines[e.driver].dialect.LexRules()
	statements, config := a.file(t), filepath.Join(t.TempDir(), "slotsql.yaml")
	base := []string{"--driver", e.driver, "--dsn", dsn}
	run := func(out any, args ...string) {
		t.Helper()
		stdout, stderr, code := command(t, "", append(slices.Clip(base), args...)...)
		if code != exitOK {
			t.Fatalf("%v: %d %s %s", args, code, stdout, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), out); err != nil {
			t.Fatal(err)
		}
	}
	var proposed initReport
	run(&proposed, "init", "--sql", statements, "--output", config, "--json")
	var checked report
	run(&checked, "check", "--sql", statements, "--fail-on", "never", "--config", config, "--json")
	cfg, err := slotsql.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := slotsql.Open(engines[e.driver].driver, dsn, slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer wrapped.Close()
	wrapped.SetMaxOpenConns(1)
	explained, several := map[string]judgement{}, map[string]bool{} // by shape; literals may be judged in another way than arguments
	var changes []judgedChange
	explainer, err := explainerOf(e, dsn)(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer explainer.Close()
	for _, s := range a.Statements {
		c := judgedChange{sql: s.SQL, shape: digest.Text(rules, strings.TrimRight(s.SQL, "; \n")), args: s.Args}
		if c.explanation, err = explainer.Explain(s.SQL); err != nil {
			t.Fatal(err)
		}
		if s.Kind == "read" || c.explanation.Class == "pass-through" || len(c.explanation.Parts) > 0 {
			continue
		}
		c.want = judgement{c.explanation.Class, c.explanation.Verdict, c.explanation.Reason}.spoken()
		if had, seen := explained[c.shape]; seen && had != c.want {
			several[c.shape] = true
		}
		explained[c.shape] = c.want
		changes = append(changes, c)
	}
	doctorSays := map[string]judgement{}
	if e.driver != "sqlite" {
		doctorSays = doctorJudges(t, e, db, dsn, cfg, changes)
	}
	for _, c := range changes {
		got := map[string]judgement{}
		if !several[c.shape] {
			got["check"] = checkJudges(checked.Statements, c.explanation, c.shape)
			if j, ok := initJudges(proposed.Tables, c.explanation, c.shape); ok {
				if j.Reason == c.explanation.NotGrouped { // what it tells of those that are fast, but one by one
					j.Reason = c.want.Reason
				}
				got["init"] = j
			}
		}
		if j, ok := doctorSays[c.shape]; ok && !several[c.shape] {
			got["doctor"] = j
		}
		got["page"] = pageJudges(t, wrapped, c.sql, c.args)
		for tool, j := range got {
			compared[tool]++
			if j = j.spoken(); j != c.want {
				t.Errorf("%s: %s says %q, and explain %q", c.sql, tool, j, c.want)
			}
		}
	}
	if e.driver != "sqlite" {
		compareProposals(t, cfg, doctorLooks(t, e, db, dsn, nil, waits(proposed.Tables, changes)...).Propose)
	}
}

// judgedChange is a statement that changes counters, and what explain makes of it.
type judgedChange struct {
	sql, shape  string
	args        []any
	explanation *slotsql.Explanation
	want        judgement
}

// waits has all statements wait, once each, for a row of each table that a transaction holds, and something else
// for another row, that a statement holds.
func waits(tables []*propose.Proposal, changes []judgedChange) (out []dialect.Wait) {
	add := func(w dialect.Wait) {
		w.Execution = strconv.Itoa(len(out))
		w.Waiter, w.Holder = w.Execution, "holder"
		out = append(out, w)
	}
	for _, p := range tables {
		done := map[string]bool{}
		for _, c := range changes {
			if c.explanation.Tables[0] == p.Table && !done[c.shape] {
				add(dialect.Wait{Table: p.Table, Row: "1", Statement: c.sql, Idle: true})
			}
			done[c.shape] = true
		}
		add(dialect.Wait{Table: p.Table, Row: "2", Statement: "SELECT 1", Holding: "DELETE FROM " + p.Table})
	}
	return out
}

// compareProposals expects doctor to propose for the tables that it proposes what init proposes for them.
func compareProposals(t *testing.T, cfg *slotsql.Config, text string) {
	t.Helper()
	if text == "" {
		text = "version: 1\ntables: {}\n"
	}
	config, err := slotsql.Parse([]byte(text), "doctor.yaml")
	if err != nil {
		t.Errorf("%v\n%s", err, text)
		return
	}
	describe := func(c *slotsql.Config) (out []string) {
		valid, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		for _, t := range valid.Tables() {
			var columns []string
			for _, c := range t.Counters {
				columns = append(columns, c.Column)
			}
			slices.Sort(columns)
			out = append(out, fmt.Sprint(t.Name, columns, t.Key, t.Slots > 0))
		}
		slices.Sort(out)
		return out
	}
	if got, want := describe(config), describe(cfg); !slices.Equal(got, want) {
		t.Errorf("doctor proposes %q, and init %q", got, want)
	}
}

// spoken is a judgement without the parser's words, which only explain repeats.
func (j judgement) spoken() judgement {
	if strings.HasPrefix(j.Reason, rewrite.Rejected) {
		j.Verdict, j.Reason = "", rewrite.Rejected
	}
	j.Verdict = strings.Replace(j.Verdict, "its rows' slots", "the row's slots", 1) // the page has the verdict on the first of a kind
	return j
}

func initJudges(tables []*propose.Proposal, x *slotsql.Explanation, shape string) (judgement, bool) {
	for _, p := range tables {
		if p.Off != "" || p.Guess || !slices.Contains(x.Tables, p.Table) {
			continue
		}
		for _, u := range slices.Concat(p.Adds, p.Slow) {
			if u.Shape == shape {
				return judgement{u.Class, u.Verdict, u.Reason}, true
			}
		}
		return judgement{Class: "not among those that add or drain"}, x.Class != "read"
	}
	return judgement{}, false
}

// checkJudges finds a statement among those that check lists. It does not list the fast ones.
func checkJudges(r *statementsReport, x *slotsql.Explanation, shape string) judgement {
	list := map[string][]checkedStatement{"additive-base": r.Base, "draw": r.Base, "drain": r.Drained, "refused": r.Refused}[x.Class]
	if x.Scope != "" {
		list = r.Drained
	}
	for _, s := range list {
		if s.Statement == shape {
			return judgement{x.Class, s.Verdict, s.Reason}
		}
	}
	if slices.Contains([]string{"additive-base", "draw", "drain", "refused"}, x.Class) {
		return judgement{Class: "not listed"}
	}
	return judgement{x.Class, x.Verdict, x.Reason}
}

// waiting is a dialect whose server reports a waiting statement.
type waiting struct {
	dialect.Dialect
	dialect.Observer
	waits []dialect.Wait
}

func (w *waiting) Waits(context.Context, dialect.Session) ([]dialect.Wait, error) {
	return w.waits, nil
}

func (w *waiting) Locked(_ context.Context, _ dialect.Session, _ *schema.Table, key []string, wait *dialect.Wait) ([]string, error) {
	return slices.Repeat([]string{wait.Row}, len(key)), nil
}

// doctorJudges has each statement wait for a row of its own.
func doctorJudges(t *testing.T, e testedEngine, db *sql.DB, dsn string, cfg *slotsql.Config, changes []judgedChange) map[string]judgement {
	t.Helper()
	var waits []dialect.Wait
	for i, c := range changes {
		n := strconv.Itoa(i)
		waits = append(waits, dialect.Wait{Waiter: n, Holder: "holder", Execution: n, Row: n, Table: c.explanation.Tables[0], Statement: c.sql, Holding: c.sql})
	}
	out := map[string]judgement{}
	for _, s := range doctorLooks(t, e, db, dsn, cfg, waits...).Spots {
		for _, st := range s.Statements {
			out[st.SQL] = judgement{st.Class, st.Verdict, st.Reason}
		}
	}
	if len(changes) > 0 && len(out) == 0 {
		t.Error("doctor says nothing")
	}
	return out
}

// doctorLooks has doctor look at these waits.
func doctorLooks(t *testing.T, e testedEngine, db *sql.DB, dsn string, cfg *slotsql.Config, waits ...dialect.Wait) *doctor.Report {
	t.Helper()
	d := engines[e.driver].dialect
	if s, ok := d.(dialect.ServerAware); ok {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d, err = s.ForServer(t.Context(), dialect.PlainSession{Conn: conn}); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	r, err := doctor.Look(t.Context(), db, &waiting{d, d.(dialect.Observer), waits}, doctor.Options{Config: cfg, Propose: propose.ForDoctor,
		Explain: explainerOf(e, dsn)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func explainerOf(e testedEngine, dsn string) func(context.Context, *slotsql.Config) (*slotsql.Explainer, error) {
	return func(ctx context.Context, c *slotsql.Config) (*slotsql.Explainer, error) {
		connector, err := slotsql.OpenConnector(engines[e.driver].driver, dsn, slotsql.WithConfig(c))
		if err != nil {
			return nil, err
		}
		return slotsql.NewExplainer(ctx, connector)
	}
}

// pageJudges runs a statement, and returns as what the status page counts it. Whether it succeeds does not matter.
func pageJudges(t *testing.T, db *sql.DB, query string, args []any) judgement {
	t.Helper()
	key := func(s slotsql.StatementStats) string {
		return fmt.Sprintf("%q", []any{s.Dialect, s.Tables, s.Class, s.Reason, s.Scope})
	}
	before := map[string]uint64{}
	for _, s := range status.Read().Statements {
		before[key(s)] = s.Statements
	}
	if rows, err := db.QueryContext(t.Context(), query, args...); err == nil { // Exec of a query can hang in go-sql-driver (skipColumns)
		for rows.Next() {
		}
		_ = rows.Close()
	}
	_, _ = db.ExecContext(t.Context(), "ROLLBACK") // of a transaction that the statement may have begun
	for _, s := range status.Read().Statements {
		if s.Statements > before[key(s)] {
			return judgement{s.Class, s.Verdict, s.Reason}
		}
	}
	return judgement{Class: "not counted"}
}
