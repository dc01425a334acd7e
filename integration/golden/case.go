// Package golden reads the golden cases under rewrite/testdata and prints
// plans the way they are written there. The planner's own test, the end-to-end
// test and tests of other packages share it; see rewrite/testdata/README.md for the format.
package golden

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// Dialects are the names that sections begin with.
var Dialects = []string{"mysql", "postgres", "sqlite"}

// Case is one file.
type Case struct {
	Class, Name string // directory and file name
	Doc         string // the text above the first section
	Dialects    []string

	path    string
	archive *archive
}

// Statement is the SQL of one dialect, and what its header says.
type Statement struct {
	SQL       string
	Args      []any
	SkipE2E   string // why the engine cannot run it like the others
	Params    string // added to the DSN
	AllSteps  bool   // print every step of a drain
	FallsBack string // why the increment is not slotted when it runs, or a drain finds nothing
	Query     bool   // run by Query, whatever the statement looks like
}

// Load reads every case under dir, in order of class and name.
func Load(dir string) ([]*Case, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.txtar"))
	if err != nil {
		return nil, err
	}
	sort.Strings(paths)
	var cases []*Case
	for _, p := range paths {
		c, err := read(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func read(path string) (*Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	a := parseArchive(string(text))
	c := &Case{
		Class: filepath.Base(filepath.Dir(path)), Name: strings.TrimSuffix(filepath.Base(path), ".txtar"),
		Doc: strings.TrimSpace(a.Comment), path: path, archive: a,
	}
	if c.Doc == "" {
		return nil, fmt.Errorf("no text above the first section: say why the case is there")
	}
	known := []string{"config.yaml", "schema.sql", "seed.sql", "statement.sql"}
	for _, d := range Dialects {
		known = append(known, d, d+".sql", "schema."+d+".sql", "seed."+d+".sql")
		if c.section(d+".sql") != nil || c.section("statement.sql") != nil {
			c.Dialects = append(c.Dialects, d)
		}
	}
	seen := map[string]bool{}
	for _, f := range a.Sections {
		for _, name := range f.names() {
			switch {
			case !slices.Contains(known, name):
				return nil, fmt.Errorf("unknown section %q", name)
			case seen[name] && !slices.Contains(Dialects, name):
				return nil, fmt.Errorf("section %q twice", name)
			}
			seen[name] = true
		}
	}
	if len(c.Dialects) == 0 {
		return nil, fmt.Errorf("no statement")
	}
	for _, d := range c.Dialects {
		if _, err := c.Statement(d); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Case) section(name string) *section {
	for i := range c.archive.Sections {
		if slices.Contains(c.archive.Sections[i].names(), name) {
			return &c.archive.Sections[i]
		}
	}
	return nil
}

// text returns the first of the sections that is there.
func (c *Case) text(names ...string) string {
	for _, n := range names {
		if f := c.section(n); f != nil {
			return f.Data
		}
	}
	return ""
}

// Config is the configuration file. A case may give its tables only, and has slots on
// every engine.
func (c *Case) Config() string {
	text := c.text("config.yaml")
	if !strings.Contains(text, "version:") {
		text = "version: 1\nauto_migrate: true\ntables:\n  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	return WithSlots(text)
}

// Schema returns the CREATE TABLE statements.
func (c *Case) Schema(dialect string) []string {
	return statements(c.text("schema."+dialect+".sql", "schema.sql"))
}

// Seed returns the statements that fill the tables.
func (c *Case) Seed(dialect string) []string {
	return statements(c.text("seed."+dialect+".sql", "seed.sql"))
}

// statements cuts where a line ends with a semicolon and the next one is not
// indented.
func statements(query string) []string {
	var out []string
	var b strings.Builder
	lines := strings.Split(query, "\n")
	for i, line := range lines {
		b.WriteString(line + "\n")
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if strings.HasSuffix(line, ";") && !strings.HasPrefix(next, " ") {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(b.String()), ";"))
			b.Reset()
		}
	}
	if s := strings.TrimSpace(b.String()); s != "" {
		out = append(out, s)
	}
	return out
}

// Statement returns the statement of a dialect.
func (c *Case) Statement(dialect string) (Statement, error) {
	var s Statement
	query := c.text(dialect+".sql", "statement.sql")
	for {
		line, rest, _ := strings.Cut(query, "\n")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			break
		}
		value = strings.TrimSpace(value)
		switch key {
		case "-- args":
			if err := yaml.Unmarshal([]byte("["+value+"]"), &s.Args); err != nil {
				return s, fmt.Errorf("args: %w", err)
			}
			for i, a := range s.Args {
				if named, ok := a.(map[string]any); ok {
					for name, v := range named {
						s.Args[i] = sql.Named(name, number(v))
					}
					continue
				}
				s.Args[i] = number(a)
			}
		case "-- skip-e2e":
			s.SkipE2E = value
		case "-- falls back":
			s.FallsBack = value
		case "-- params":
			s.Params = value
		case "-- show":
			if value != "all steps" {
				return s, fmt.Errorf("show: want all steps, got %q", value)
			}
			s.AllSteps = true
		case "-- run by":
			if value != "Query" {
				return s, fmt.Errorf("run by: want Query, got %q", value)
			}
			s.Query = true
		default:
			ok = false
		}
		if !ok {
			break
		}
		query = rest
	}
	s.SQL = strings.TrimSuffix(query, "\n")
	if s.SQL == "" {
		return s, fmt.Errorf("%s: no statement", dialect)
	}
	return s, nil
}

// number gives integers the type that programs use.
func number(v any) any {
	if n, ok := v.(uint64); ok {
		return int64(n)
	}
	return v
}

// Plan is the plan that is written in the file.
func (c *Case) Plan(dialect string) (plan string) {
	for _, f := range c.archive.Sections {
		if slices.Contains(f.names(), dialect) {
			plan += f.Data
		}
	}
	return plan
}

// Update writes the plans into the file, behind everything else.
func (c *Case) Update(plans map[string]string) error {
	others := slices.DeleteFunc(c.archive.Sections, func(f section) bool { return slices.Contains(Dialects, f.names()[0]) })
	c.archive.Sections = append(others, merged(c.Dialects, plans)...)
	return os.WriteFile(c.path, []byte(c.archive.String()), 0o644)
}

// merged groups the dialects that have the same plan, and of those that differ writes what all have in common, in the same order, only
// once. So the sections of a dialect hold its plan.
func merged(dialects []string, plans map[string]string) (out []section) {
	write := func(name string, entries ...string) {
		if n := len(out); len(entries) > 0 && (n == 0 || out[n-1].Name != name) {
			out = append(out, section{Name: name})
		}
		for _, e := range entries {
			out[len(out)-1].Data += e
		}
	}
	var names []string
	var left [][]string
	for _, d := range dialects {
		entries := entry.FindAllString(plans[d], -1)
		if same := slices.IndexFunc(left, func(other []string) bool { return slices.Equal(other, entries) }); same >= 0 {
			names[same] += ", " + d
		} else {
			names, left = append(names, d), append(left, entries)
		}
	}
	for _, e := range left[0] {
		if slices.ContainsFunc(left, func(entries []string) bool { return !slices.Contains(entries, e) }) {
			continue
		}
		for i, entries := range left {
			at := slices.Index(entries, e)
			write(names[i], entries[:at]...)
			left[i] = entries[at+1:]
		}
		write(strings.Join(dialects, ", "), e)
	}
	for i, entries := range left {
		write(names[i], entries...)
	}
	return out
}

// entry is a line of a plan with the indented ones below it.
var entry = regexp.MustCompile(`.*\n(?: .*\n)*`)
