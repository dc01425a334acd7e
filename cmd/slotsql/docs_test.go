package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	flagRow      = regexp.MustCompile("(?m)^\\| `--([a-z-]+)[^`]*` \\| (.*) \\|$")
	flagDefault  = regexp.MustCompile(`\(default[^)]*\)`)
	emptyDefault = []string{"", "0", "0s", "false", "[]"}
)

// TestFlagTables compares the flags of each command, and their defaults, with the table on the command's page. A common
// flag may be left out there if docs/cli.md has it with the same default.
func TestFlagTables(t *testing.T) {
	common := flagRows(t, "../../docs/cli.md", "\n## Common flags\n")
	for _, name := range []string{"config", "driver", "dsn", "dsn-file", "json", "schema"} {
		if common[name] == "" {
			t.Errorf("docs/cli.md does not have --%s", name)
		}
	}
	root := rootCommand(&options{})
	root.InitDefaultCompletionCmd()
	tried := 0
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			continue
		}
		tried++
		path := filepath.Join("../../docs/cli", c.Name()+".md")
		rows := flagRows(t, path, "\n## Flags\n")
		flags := flagsOf(c)
		for name := range flags {
			if rows[name] == "" && common[name] != "" {
				rows[name] = common[name]
			}
		}
		if got, want := slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(flags)); !slices.Equal(got, want) {
			t.Errorf("%s: the table has %v, and the command %v", path, got, want)
		}
		for name, means := range rows {
			if f := flags[name]; f != nil && flagDefault.FindString(means) != defaultOf(f) {
				t.Errorf("%s: --%s: %q does not have the command's %q", path, name, means, defaultOf(f))
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d commands", tried)
	}
}

// flagRows returns what the table under a heading of a page says of each flag.
func flagRows(t *testing.T, path, heading string) map[string]string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	_, text, _ := strings.Cut(string(page), heading)
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string]string{}
	for _, m := range flagRow.FindAllStringSubmatch(text, -1) {
		rows[m[1]] = m[2]
	}
	return rows
}

// flagsOf returns the visible flags of a command, except --help, and those of its subcommands, which are its arguments.
func flagsOf(c *cobra.Command) map[string]*pflag.Flag {
	flags := map[string]*pflag.Flag{}
	add := func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags[f.Name] = f
		}
	}
	c.LocalFlags().VisitAll(add)
	for _, sub := range c.Commands() {
		sub.LocalFlags().VisitAll(add)
	}
	return flags
}

// defaultOf returns a flag's default as its usage shows it.
func defaultOf(f *pflag.Flag) string {
	switch {
	case slices.Contains(emptyDefault, f.DefValue):
		return flagDefault.FindString(f.Usage)
	case f.Value.Type() == "string":
		return `(default "` + f.DefValue + `")`
	}
	return "(default " + f.DefValue + ")"
}

// Each command that runs something has an example in its help, whose flags it has.
func TestExamples(t *testing.T) {
	for _, c := range rootCommand(&options{}).Commands() {
		if !c.Runnable() || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		n := 0
		for line := range strings.Lines(c.Example) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "slotsql" || words[1] != c.Name() {
				continue
			}
			n++
			for _, w := range words[2:] {
				if name, ok := strings.CutPrefix(w, "--"); ok && flagsOf(c)[name] == nil {
					t.Errorf("%s: the example has the flag %s, which there is not", c.Name(), w)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s has no example: %q", c.Name(), c.Example)
		}
	}
}
