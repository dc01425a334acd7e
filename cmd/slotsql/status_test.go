package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	dsn, config, _ := counted(t)
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config}
	out, errs, code := command(t, "", append([]string{"status", "--json"}, flags...)...)
	var seen slotsql.Inspection
	if err := json.Unmarshal([]byte(out), &seen); err != nil || code != 0 || len(seen.Tables) != 1 ||
		seen.Tables[0].Rows != 2 || seen.Tables[0].Slots != 3 || seen.Tables[0].Idle != 0 {
		t.Errorf("%d, %v: %s%s", code, err, out, errs)
	}
	out, errs, code = command(t, "", append([]string{"status"}, flags...)...)
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) < 2 || !strings.HasPrefix(strings.TrimSpace(lines[1]), "posts ") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}

// A configured table that does not exist, perhaps by a mistyped name, is said.
func TestStatusOfMissingTable(t *testing.T) {
	t.Parallel()
	dsn, _, _ := counted(t)
	config := write(t, "slotsql.yaml", "version: 1\ntables: {pots: {counters: {views: {}}}}\n")
	flags := []string{"--driver", "sqlite", "--dsn", dsn, "--config", config}
	out, errs, code := command(t, "", append([]string{"status", "--json"}, flags...)...)
	var seen slotsql.Inspection
	if err := json.Unmarshal([]byte(out), &seen); err != nil || code != 0 || len(seen.Missing) != 1 || seen.Missing[0] != "pots" {
		t.Errorf("%d, %v: %s%s", code, err, out, errs)
	}
	if out, _, _ := command(t, "", append([]string{"status"}, flags...)...); !strings.Contains(out, `table "pots" does not exist`) {
		t.Error(out)
	}
}

// A pass over no table has an empty list of them, and not null. The warning is JSON, too.
func TestRollUpOfMissingTable(t *testing.T) {
	t.Parallel()
	dsn, _, _ := counted(t)
	config := write(t, "slotsql.yaml", "version: 1\ntables: {pots: {counters: {views: {}}}}\n")
	out, errs, code := command(t, "", "rollup", "--once", "--json", "--driver", "sqlite", "--dsn", dsn, "--config", config)
	if code != exitOK || !strings.Contains(out, `"tables": []`) {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	var warning struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(errs), &warning); err != nil || warning.Level != "WARN" || !strings.Contains(warning.Msg+errs, "pots") {
		t.Errorf("%v: %s", err, errs)
	}
}

// Where the output is no terminal, top writes one look after the other.
func TestTop(t *testing.T) {
	t.Parallel()
	dsn, config, _ := counted(t)
	out, errs, code := command(t, "", "top", "--looks", "2", "--every", "1ms", "--driver", "sqlite", "--dsn", dsn, "--config", config)
	if code != 0 || strings.Count(out, "slotsql top, ") != 2 || strings.Count(out, " posts ") != 2 || strings.Contains(out, "\x1b") {
		t.Errorf("%d: %q %s", code, out, errs)
	}
	if _, errs, code := command(t, "", "top", "--every", "0s", "--driver", "sqlite", "--dsn", dsn); code != exitError ||
		!strings.Contains(errs, "--every") {
		t.Errorf("%d, %s", code, errs)
	}
}
