package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/explain")

// TestExplainGolden explains the statements of testdata/explain, which stand behind $ there.
func TestExplainGolden(t *testing.T) {
	for _, e := range testedEngines {
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata/explain", e.driver+".txt")
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			explained := 0
			for line := range strings.Lines(string(want)) {
				query, ok := strings.CutPrefix(line, "$ ")
				if !ok {
					continue
				}
				explained++
				got.WriteString(line)
				args := explainArgs(e.driver)
				query, detailed := strings.CutPrefix(strings.TrimSpace(query), "--sql ")
				if detailed {
					args = append(args, "--sql")
				}
				stdout, stderr, code := command(t, "", append(args, query)...)
				if code != exitOK {
					t.Errorf("%s: %d %s", query, code, stderr)
				}
				if !detailed {
					checkLines(t, query, stdout, 12)
				}
				got.WriteString(stdout + "\n")
			}
			if explained < 12 {
				t.Errorf("%d statements", explained)
			}
			if got.String() == string(want) {
				return
			}
			if !*update {
				t.Fatalf("%s differs: go test -run TestExplainGolden -update rewrites it. Got\n%s", file, got.String())
			}
			if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func explainArgs(driver string) []string {
	return []string{"explain", "--driver", driver, "--schema", "testdata/explain/schema.sql", "--config", "testdata/explain/slotsql.yaml"}
}

// What explain says to add for a table that is not configured makes the statement fast.
func TestExplainUnconfigured(t *testing.T) {
	const query = "UPDATE users SET seen = seen + 1 WHERE id = ?"
	for _, e := range testedEngines {
		stdout, stderr, code := command(t, "", append(explainArgs(e.driver), query)...)
		_, lines, found := strings.Cut(stdout, "As plain: table users is not configured: add its counters to slotsql.yaml:\n")
		if code != exitOK || !found {
			t.Fatalf("%d %s %s", code, stdout, stderr)
		}
		config := write(t, "slotsql.yaml", "version: 1\n"+strings.ReplaceAll("\n"+lines, "\n    ", "\n"))
		stdout, stderr, code = command(t, "", "explain", query, "--driver", e.driver, "--schema", "testdata/explain/schema.sql", "--config", config)
		if code != exitOK || !strings.HasPrefix(stdout, "Fast: ") {
			t.Errorf("%d %s %s", code, stdout, stderr)
		}
		for query, want := range map[string]string{
			"SELECT seen FROM users":      "As plain: table users is not configured.\n",
			"UPDATE users SET name = 'x'": "As plain: table users is not configured.\n",
		} {
			if stdout, _, _ := command(t, "", append(explainArgs(e.driver), query)...); stdout != want {
				t.Errorf("%s: %s", query, stdout)
			}
		}
	}
}
