package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile"
	internalconfig "github.com/slotsql/slotsql/internal/config"
)

var verdictLine = regexp.MustCompile(`^(Fast|As plain|Slower|Refused): .`)

// TestExplainCorpus explains the statements of applications, from their tables and from a database: a verdict first, in twelve
// lines that fit a terminal.
func TestExplainCorpus(t *testing.T) {
	explained := map[string]int{}
	for _, app := range corpusApplications(t) {
		if len(app.Words) > 0 {
			continue // which the parser takes for MySQL's
		}
		explained[app.Dialect] += len(app.Statements)
		for _, e := range testedEngines {
			if e.driver == app.Dialect {
				t.Run(app.App, func(t *testing.T) {
					t.Parallel()
					app.explain(t, e)
				})
			}
		}
	}
	for _, e := range testedEngines {
		if explained[e.driver] < 10 {
			t.Errorf("%s: %d statements", e.driver, explained[e.driver])
		}
	}
	t.Logf("explained: %v", explained)
}

func (a corpusApplication) explain(t *testing.T, e testedEngine) {
	dsn, _ := e.database(t, a.DDL...)
	with := []string{"--driver", a.Dialect, "--config", write(t, "slotsql.yaml", a.config(t))}
	schema := append([]string{"--schema", write(t, "schema.sql", strings.Join(a.DDL, ";\n"))}, with...)
	live := append([]string{"--dsn", dsn}, with...)
	for _, s := range a.Statements {
		text, stderr, code := command(t, "", append([]string{"explain", s.SQL}, schema...)...)
		fromServer, refused, codeLive := command(t, "", append([]string{"explain", s.SQL}, live...)...)
		if strings.Contains(s.SQL, "missing_column") {
			if code != exitProblems || codeLive != exitProblems || !strings.Contains(stderr+refused, "missing_column") {
				t.Errorf("%s: %d %s %d %s", s.SQL, code, stderr, codeLive, refused)
			}
			continue
		}
		if code != exitOK || codeLive != exitOK || fromServer != text {
			t.Errorf("%d %s %d %s\n%s\n%s\n%s", code, stderr, codeLive, refused, s.SQL, text, fromServer)
			continue
		}
		checkLines(t, s.SQL, text, 12)
		detailed, stderr, code := command(t, "", append([]string{"explain", s.SQL, "--sql"}, schema...)...)
		if code != exitOK || !strings.HasPrefix(detailed, strings.SplitAfter(text, "\n")[0]) || !strings.Contains(detailed, "\nstatement:\n") {
			t.Errorf("%d %s\n%s\n%s", code, stderr, s.SQL, detailed)
		}
	}
}

func checkLines(t *testing.T, query, text string, most int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !verdictLine.MatchString(text) || len(lines) > most {
		t.Errorf("%d lines:\n%s\n%s", len(lines), query, text)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 80 {
			t.Errorf("wider than 80 columns:\n%s\n%s", query, text)
		}
	}
}

// corpusApplications are those of the repository, and of the file that SLOTSQL_CORPUS names.
func corpusApplications(t *testing.T) (all []corpusApplication) {
	t.Helper()
	files := []string{"../../integration/corpus/testdata/statements.yaml"}
	if more := os.Getenv("SLOTSQL_CORPUS"); more != "" {
		files = append(files, more)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var apps []corpusApplication
		if err := yaml.Unmarshal(text, &apps); err != nil {
			t.Fatal(err)
		}
		all = append(all, apps...)
	}
	return all
}

// config configures the counters that people have found in the application, but for tables that cannot be configured so.
func (a corpusApplication) config(t *testing.T) string {
	t.Helper()
	f, err := schemafile.Parse(engines[a.Dialect].dialect, strings.Join(a.DDL, ";\n"))
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for {
		tables := map[string]map[string]map[string]map[string]any{}
		for _, c := range a.Counters {
			if left[c.Table] {
				continue
			}
			if tables[c.Table] == nil {
				tables[c.Table] = map[string]map[string]map[string]any{"counters": {}}
			}
			tables[c.Table]["counters"][c.Column] = map[string]any{}
		}
		text, err := yaml.Marshal(map[string]any{"version": 1, "tables": tables})
		if err != nil {
			t.Fatal(err)
		}
		config, err := internalconfig.Parse(text, "slotsql.yaml")
		if err == nil {
			_, err = f.Check(config)
		}
		var problems *slotsql.ConfigError
		if !errors.As(err, &problems) {
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		for _, p := range problems.Problems {
			left[strings.SplitN(p.Path, ".", 3)[1]] = true
		}
	}
}
