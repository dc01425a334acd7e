package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
	for file, apps := range applications(t) {
		total := &found{}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			for _, app := range apps {
				t.Run(app.App, func(t *testing.T) {
					t.Parallel()
					app.propose(t, app.engine(), total, file == ownCorpus)
				})
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
	App        string          `yaml:"app"`
	Dialect    string          `yaml:"dialect"`
	DDL        []string        `yaml:"ddl"`
	SeedRows   []string        `yaml:"seed_rows"`
	Counters   []corpusCounter `yaml:"counters"`
	Statements []struct {
		Kind, SQL string
		Args      []any
	} `yaml:"statements"`
	Words []string `yaml:"words"` // names that MySQL reserves and MariaDB does not
}

type corpusCounter struct{ Table, Column string }

func (a corpusApplication) propose(t *testing.T, e testedEngine, total *found, all bool) {
	dsn, _ := e.database(t, a.DDL...)
	statements, output := a.file(t), filepath.Join(t.TempDir(), "slotsql.yaml")
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

func (a corpusApplication) engine() testedEngine {
	return testedEngines[slices.IndexFunc(testedEngines, func(e testedEngine) bool { return e.driver == a.Dialect })]
}

// file writes the statements into a file.
func (a corpusApplication) file(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, s := range a.Statements {
		quoted, err := json.Marshal(s.SQL) // which is YAML as well
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("- sql: " + string(quoted) + "\n")
	}
	return write(t, "statements.yaml", text.String())
}

// applications returns the applications of our own corpus, and of the one that SLOTSQL_CORPUS names, by file.
func applications(t *testing.T) map[string][]corpusApplication {
	t.Helper()
	out := map[string][]corpusApplication{}
	for _, file := range []string{ownCorpus, os.Getenv("SLOTSQL_CORPUS")} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var apps []corpusApplication
		if err := yaml.Unmarshal(text, &apps); err != nil {
			t.Fatal(err)
		}
		out[file] = apps
	}
	return out
}

const ownCorpus = "../../integration/corpus/testdata/statements.yaml"

func (c corpusCounter) folded() corpusCounter {
	table := strings.ToLower(c.Table)
	return corpusCounter{table[strings.LastIndexByte(table, '.')+1:], strings.ToLower(c.Column)}
}
