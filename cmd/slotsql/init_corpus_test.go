package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
)

// found counts what init has made of the counters that people have named.
type found struct {
	mutex                             sync.Mutex
	named, proposed, explained, extra int
}

// TestInitOnApplications proposes configurations for the applications of the
// corpus, from their tables and statements, and compares with the counters that
// people have found in them. Whatever it proposes must fit the database; of our
// own corpus all counters must be named, proposed or with the reason why not.
func TestInitOnApplications(t *testing.T) {
	files := []string{"../../integration/corpus/testdata/statements.yaml"}
	if more := os.Getenv("SLOTSQL_CORPUS"); more != "" {
		files = append(files, more)
	}
	for i, file := range files {
		total := &found{}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var apps []corpusApplication
			if err := yaml.Unmarshal(text, &apps); err != nil {
				t.Fatal(err)
			}
			for _, app := range apps {
				for _, e := range testedEngines {
					if e.driver == app.Dialect {
						t.Run(app.App, func(t *testing.T) {
							t.Parallel()
							app.propose(t, e, total, i == 0)
						})
					}
				}
			}
		})
		t.Logf("%s: people name %d counters; proposed %d of them, %d more with a reason against them; proposed besides %d",
			file, total.named, total.proposed, total.explained, total.extra)
		if total.named == 0 {
			t.Errorf("%s: no counters", file)
		}
	}
}

type corpusApplication struct {
	App        string                 `yaml:"app"`
	Dialect    string                 `yaml:"dialect"`
	DDL        []string               `yaml:"ddl"`
	Counters   []corpusCounter        `yaml:"counters"`
	Statements []struct{ SQL string } `yaml:"statements"`
	Words      []string               `yaml:"words"` // names that MySQL reserves and MariaDB does not
}

type corpusCounter struct{ Table, Column string }

func (a corpusApplication) propose(t *testing.T, e testedEngine, total *found, all bool) {
	dsn := e.dsn(t)
	db, err := sql.Open(e.parent, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, ddl := range a.DDL {
		if _, err := db.ExecContext(t.Context(), ddl); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	for _, s := range a.Statements {
		quoted, err := json.Marshal(s.SQL) // which is YAML as well
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("- sql: " + string(quoted) + "\n")
	}
	statements, output := write(t, "statements.yaml", text.String()), filepath.Join(t.TempDir(), "slotsql.yaml")
	base := []string{"--driver", e.driver, "--dsn", dsn}
	stdout, stderr, code := command(t, "", append(base, "init", "--sql", statements, "--output", output, "--json")...)
	if code != 0 {
		t.Fatalf("init: %d %s", code, stderr)
	}
	var r initReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	uncommented(t, r.Config, base)
	for _, args := range [][]string{{"check", "--sql", statements, "--fail-on", "never"}, {"migrate"}, {"check"}} {
		if stdout, stderr, code := command(t, "", append(append(base, args...), "--config", output)...); code != 0 {
			t.Errorf("%v: %d %s %s\n%s", args, code, stdout, stderr, r.Config)
		}
	}
	named := map[corpusCounter]bool{}
	for _, c := range a.Counters {
		named[c.folded()] = true
	}
	total.mutex.Lock()
	defer total.mutex.Unlock()
	total.named += len(named)
	seen := map[corpusCounter]bool{}
	for _, p := range r.Tables {
		for _, c := range p.Counters {
			at := corpusCounter{p.Table, c.Column}.folded()
			switch proposed := !p.Guess && p.Off == "" && c.Off == ""; {
			case named[at] && proposed:
				total.proposed++
			case named[at]:
				total.explained++
				t.Logf("not proposed: %s.%s: %s %s", p.Table, c.Column, p.Off, c.Off)
			case proposed:
				total.extra++
				t.Logf("besides: %s.%s", p.Table, c.Column)
			}
			seen[at] = true
		}
	}
	for _, c := range a.Counters {
		if !seen[c.folded()] {
			t.Logf("not named: %s.%s", c.Table, c.Column)
			if all {
				t.Errorf("counter %s.%s is not named by\n%s", c.Table, c.Column, r.Config)
			}
		}
	}
}

func (c corpusCounter) folded() corpusCounter {
	table := strings.ToLower(c.Table)
	return corpusCounter{table[strings.LastIndexByte(table, '.')+1:], strings.ToLower(c.Column)}
}
