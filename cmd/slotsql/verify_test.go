package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
)

// The exit code reports whether something is wrong that has not been put right.
func TestVerify(t *testing.T) {
	db := filepath.Join(t.TempDir(), "app.db")
	config := write(
		t,
		"slotsql.yaml",
		"version: 1\ndefaults: {slots: 64, placement: connection}\ntables:\n  posts:\n    counters:\n      likes: {recount: \"SELECT post AS id, COUNT(*) AS likes FROM likes GROUP BY post\"}\n      stock: {min: 0}\n",
	)
	plain, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, q := range []string{"CREATE TABLE posts (id INTEGER PRIMARY KEY, likes INTEGER NOT NULL, stock INTEGER NOT NULL)", "CREATE TABLE likes (post INTEGER)",
		"INSERT INTO posts VALUES (1, 2, 0), (2, 0, 0)", "INSERT INTO likes VALUES (1), (1)"} {
		if _, err := plain.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	run := func(code int, args ...string) string {
		t.Helper()
		stdout, stderr, got := command(t, "", append(args, "--driver", "sqlite", "--dsn", db, "--config", config)...)
		if got != code {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, got, code, stdout, stderr)
		}
		return stdout
	}
	run(0, "migrate")
	if got := run(0, "verify"); got != "posts: nothing wrong, recounted: likes\n" {
		t.Error(got)
	}
	for _, q := range []string{"INSERT INTO likes VALUES (2)", "UPDATE posts SET stock = -1 WHERE id = 1"} {
		if _, err := plain.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	const both = "  likes of id=2 is 0 and should be 1\n  stock of id=1 is -1, below its min of 0\n"
	if got := run(1, "verify", "posts"); got != "posts: 2 wrong, 0 fixed, recounted: likes\n"+both {
		t.Error(got)
	}
	var report struct {
		Wrong  int
		Tables []struct {
			Findings []struct {
				Kind, Is, Should string
				Key              map[string]string
			}
		}
	}
	if err := json.Unmarshal(
		[]byte(run(1, "verify", "--json")),
		&report,
	); err != nil || report.Wrong != 2 || len(report.Tables) != 1 ||
		report.Tables[0].Findings[0].Key["id"] != "2" {
		t.Errorf("%+v, %v", report, err)
	}
	if got := run(1, "verify", "--fix"); !strings.Contains(got, "2 wrong, 1 fixed") || !strings.Contains(got, "should be 1 (fixed)") {
		t.Error(got)
	}
	if _, err := plain.Exec("UPDATE posts SET stock = 0"); err != nil {
		t.Fatal(err)
	}
	run(0, "verify")
	run(2, "verify", "pages")
	run(2, "verify", "--patience", "0s")
}

// Findings of a kind are counted, and some of them are printed; leftovers of more
// slots are a note, and no reason for the exit code 1.
func TestVerifyPrintsExamples(t *testing.T) {
	report := slotsql.VerifyReport{
		Table:    "posts",
		Findings: []slotsql.Finding{{Kind: slotsql.FindingMin, Counter: "stock", Key: map[string]string{"id": "7"}, Is: "-1", Should: "0"}},
	}
	for id := range 1000 {
		report.Findings = append(
			report.Findings,
			slotsql.Finding{Kind: slotsql.FindingOrphan, Key: map[string]string{"id": fmt.Sprint(id)}, Slots: 1},
		)
	}
	leftovers := slotsql.Finding{Kind: slotsql.FindingSlot, Key: map[string]string{"id": "1"}, Slots: 11033, Rows: 900, Info: true}
	report.Findings = append(report.Findings, leftovers)
	var out strings.Builder
	new(options).printAudit(&out, &report)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 14 || lines[0] != "posts: 1001 wrong, 0 fixed" || lines[11] != "  1 slot rows of id=9 have no base row" ||
		lines[12] != "  and 990 more like this: slot rows have no base row (--json lists them all)" || !strings.HasPrefix(lines[13], "  note: 11033 slot rows of 900 rows ") {
		t.Error(out.String())
	}
	out.Reset()
	if err := new(options).printVerify(
		&out,
		[]slotsql.VerifyReport{{Table: "posts", Findings: []slotsql.Finding{leftovers}}},
		nil,
	); err != nil ||
		!strings.HasPrefix(out.String(), "posts: nothing wrong\n  note: ") {
		t.Error(err, out.String())
	}
}
