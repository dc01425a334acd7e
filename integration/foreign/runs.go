package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/slotsql/slotsql/integration/foreign/wrap"
)

// outcomes are what each test of a run has come to: pass, fail, skip, or no end.
type outcomes map[string]string

// runTests runs a suite's tests, or some of them, in a new database: plainly without a placement, and through slotsql
// with one.
func (b *built) runTests(ctx context.Context, placement string, some ...string) (outcomes, wrap.Counts, error) {
	var counts wrap.Counts
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return nil, counts, err
	}
	defer os.RemoveAll(dir)
	if err := linkTo(b.dir, dir); err != nil {
		return nil, counts, err
	}
	value, drop, err := b.database(ctx, b.engine)
	if err != nil {
		return nil, counts, err
	}
	defer drop(context.WithoutCancel(ctx))
	expand := func(s string) string { return os.Expand(s, func(name string) string { return value[name] }) }

	args := []string{"tool", "test2json", b.binary, "-test.v=test2json", "-test.timeout=20m"}
	for _, a := range b.args {
		args = append(args, expand(a))
	}
	if len(some) > 0 {
		args = append(args, "-test.run="+"("+strings.Join(some, "|")+")"+b.subtests())
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "GOWORK=off")
	for k, v := range b.env {
		cmd.Env = append(cmd.Env, k+"="+expand(v))
	}
	file, counted := filepath.Join(dir, "slotsql.yaml"), filepath.Join(dir, "slotsql.counts")
	if placement != "" {
		text := "version: 1\nauto_migrate: true\ndefaults: {placement: " + placement + "}\ntables: " + b.tables + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, counts, err
		}
		cmd.Env = append(cmd.Env, wrap.EnvConfig+"="+file, wrap.EnvCounts+"="+counted)
	}
	text, _ := cmd.CombinedOutput() // tests that fail are no error
	name := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(b.name) + "-" + cmp.Or(placement, "plain")
	if len(some) > 0 {
		name += "-again"
	}
	if err := os.WriteFile(filepath.Join(b.logs, name+".log"), text, 0o600); err != nil {
		return nil, counts, err
	}
	all, err := readOutcomes(text)
	if err != nil || len(all) == 0 {
		return nil, counts, fmt.Errorf("no test has run: %w\n%s", err, text)
	}
	if placement != "" {
		text, err := os.ReadFile(counted)
		if err != nil {
			return nil, counts, fmt.Errorf("the tests' process has not come to its end: %w", err)
		}
		err = json.Unmarshal(text, &counts)
		return all, counts, err
	}
	return all, counts, nil
}

// unsteady is what names of tests have of a pointer or of the time.
var unsteady = regexp.MustCompile(`0x[0-9a-f]{6,}|\d{4}-\d\d-\d\d_\d\d:\S+`)

func readOutcomes(text []byte) (outcomes, error) {
	all := outcomes{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue // another line of the tests' output
		}
		e.Test = unsteady.ReplaceAllString(e.Test, "...")
		switch e.Action {
		case "run":
			all[e.Test] = "no end"
		case "pass", "fail", "skip":
			all[e.Test] = e.Action
		}
	}
	return all, lines.Err()
}

// linkTo makes dir look like a package's directory, in which its tests may write.
func linkTo(from, dir string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// subtests is the part of a suite's -test.run that is about subtests.
func (b *built) subtests() string {
	for _, a := range b.args {
		if pattern, ok := strings.CutPrefix(a, "-test.run="); ok {
			if i := strings.IndexByte(pattern, '/'); i >= 0 {
				return pattern[i:]
			}
		}
	}
	return ""
}
