package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/doctor"
)

// SQLite has nothing to look at, and the command says what there is to gain.
// Without a configuration it works as well.
func TestDoctor(t *testing.T) {
	t.Setenv("SLOTSQL_CONFIG", "")
	t.Chdir(t.TempDir())
	db := filepath.Join(t.TempDir(), "app.db")
	if err := os.WriteFile(db, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := command(t, "", "doctor", "--driver", "sqlite", "--dsn", db)
	if code != 0 || errs != "" || !strings.Contains(out, "one writer") || !strings.Contains(out, "coalescing") ||
		!strings.Contains(out, "slots: 0") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	out, _, code = command(t, "", "doctor", "--driver", "sqlite", "--dsn", db, "--json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Notes) != 1 || r.Spots == nil {
		t.Errorf("%d, %v: %s", code, err, out)
	}
	for _, args := range [][]string{
		{"--driver", "mysql"},
		{"--driver", "sqlite", "--dsn", db, "--every", "0s"},
		{"--driver", "sqlite", "--dsn", "absent.db"},
		{"--driver", "sqlite", "--dsn", db, "--config", "absent.yaml"},
	} {
		if out, _, code := command(t, "", append([]string{"doctor"}, args...)...); code != exitError || out != "" {
			t.Errorf("%v: %d, %s", args, code, out)
		}
	}
}

// What the report says is printed, and a right that is missing is an exit code.
func TestDoctorPrints(t *testing.T) {
	report := &doctor.Report{
		Looks: 9,
		Took:  2 * time.Second,
		Spots: []*doctor.Spot{
			{
				Table:      "posts",
				Key:        map[string]string{"id": "7"},
				Waits:      5,
				Most:       2,
				Lost:       4567 * time.Millisecond,
				Longest:    1234567 * time.Microsecond,
				Verdict:    "yes",
				Why:        "because",
				Statements: []*doctor.Statement{{SQL: "UPDATE posts SET views = views + ?", Seen: 5, Class: "additive"}},
				Holders:    []*doctor.Holder{{SQL: "SELECT ?", Idle: true, Seen: 4}},
			},
		},
		Saves:    []doctor.Save{{Table: "posts", Counters: []string{"views"}, SQL: "UPDATE posts SET title = ?, views = ?"}},
		Counts:   []doctor.Count{{What: "deadlocks", N: 3}},
		Deadlock: &doctor.Deadlock{At: "now", Table: "posts", Statements: []string{"SELECT ?", "SELECT ? FOR UPDATE"}},
		Notes:    []string{"a note"},
		Propose:  "tables:\n  posts:\n",
	}
	//nolint:lll // as it is printed
	const want = `seen in 2s (9 looks):
posts id=7: 4.6 s lost in 5 waits, up to 2 at a time, the longest 1.235s
  waits 5x [additive]: UPDATE posts SET views = views + ?
  for an idle transaction, whose last statement was 4x: SELECT ?
  would slotsql help? yes: because
warning: a statement writes views of posts back along with other columns; it drains each time it runs, and overwrites increments made since the row was read:
  UPDATE posts SET title = ?, views = ?
counted by the server in 2s: 3 deadlocks
the latest deadlock that the server reports, at now, for posts, was between:
  SELECT ?
  SELECT ? FOR UPDATE
note: a note

this configuration would help, as slotsql.yaml:

tables:
  posts:
`
	var b strings.Builder
	if err := (&options{}).printDoctor(&b, report, false); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := (&options{}).printDoctor(&b, report, true); err != nil || !strings.Contains(b.String(), "added to the tables of the configuration") {
		t.Errorf("%v\n%s", err, b.String())
	}
	report.Lacks = []dialect.Lack{{What: "much", Grant: "GRANT it TO me"}}
	b.Reset()
	if err := (&options{}).printDoctor(&b, report, false); err == nil ||
		!strings.Contains(b.String(), "not seen: much; to see it: GRANT it TO me\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := (&options{}).printDoctor(&b, &doctor.Report{Looks: 3, Took: time.Second}, false); err != nil ||
		b.String() != "no session waited for a lock (3 looks in 1s)\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}
