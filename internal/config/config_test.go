package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var updateConfig = flag.Bool("update-config", false, "rewrite the want lines of testdata/invalid")

// Each file of testdata/invalid ends with one line "# want: " for each
// problem: the line it is on and the message.
func TestConfigProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			body := data
			if i := bytes.Index(data, []byte("# want: ")); i >= 0 {
				body = data[:i]
				for line := range strings.Lines(string(data[i:])) {
					want = append(want, strings.TrimSpace(strings.TrimPrefix(line, "# want: ")))
				}
			}
			_, err = Parse(data, "slotsql.yaml")
			var ce *ConfigError
			if !errors.As(err, &ce) || !errors.Is(err, ErrConfig) {
				t.Fatalf("error is %v (%T), want a *ConfigError that matches ErrConfig", err, err)
			}
			var got []string
			for _, p := range ce.Problems {
				got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Message))
			}
			if *updateConfig {
				out := string(body)
				for _, g := range got {
					out += "# want: " + g + "\n"
				}
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func mustParse(t testing.TB, file string) *Config {
	t.Helper()
	c, err := Load(filepath.Join("testdata/valid", file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plain is a table's configuration without the places of its keys.
func plain(tables []TableConfig) []TableConfig {
	for i := range tables {
		tables[i].file, tables[i].at = "", nil
	}
	return tables
}

func number(n int64) *int64 { return &n }

func TestConfigValid(t *testing.T) {
	table := func(change func(*TableConfig)) TableConfig {
		c := tableDefaults()
		change(&c)
		return c
	}
	for _, tt := range []struct {
		file        string
		autoMigrate bool
		rollup      time.Duration
		tables      []TableConfig
	}{
		{"design.yaml", true, 5 * time.Second, []TableConfig{table(func(c *TableConfig) {
			c.Name, c.Table, c.Key = "posts", "posts", []string{"id"}
			c.Counters = []CounterConfig{{Column: "views"}, {Column: "likes"}, {Column: "budget", Min: number(0)}}
			c.Companions = []CompanionConfig{{"updated_at", "latest"}}
		})}},
		{"minimal.yaml", false, 0, []TableConfig{table(func(c *TableConfig) {
			c.Name, c.Table, c.Counters = "posts", "posts", []CounterConfig{{Column: "views"}}
		})}},
		{"crlf.yaml", false, 0, []TableConfig{table(func(c *TableConfig) {
			c.Name, c.Table, c.Counters = "posts", "posts", []CounterConfig{{Column: "views"}}
		})}},
		{"no_tables.yaml", false, 0, []TableConfig{}},
		{"document_mark.yaml", false, 0, []TableConfig{}},
		{"defaults_last.yaml", false, 0, []TableConfig{
			{Name: "posts", Table: "posts", Counters: []CounterConfig{{Column: "views"}}, Mode: "on", Layout: "dedicated", Placement: "adaptive", Slots: 4096, OnDrain: "error", Reads: "exact"},
			{Name: "pages", Table: "pages", Counters: []CounterConfig{{Column: "views"}}, Mode: "on", Layout: "dedicated", Slots: 8, OnDrain: "run", Reads: "exact", Coalesce: true, Placement: "adaptive"},
		}},
		{"modes.yaml", false, 0, []TableConfig{
			table(func(c *TableConfig) {
				c.Name, c.Table, c.Mode, c.Counters = "posts", "posts", "shadow", []CounterConfig{{Column: "views"}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Table, c.Counters = "pages", "pages", []CounterConfig{{Column: "views"}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Table, c.Mode, c.Counters = "old", "old", "off", []CounterConfig{{Column: "views"}}
			}),
		}},
		{"names.yaml", false, 0, []TableConfig{
			table(func(c *TableConfig) {
				c.Name, c.Schema, c.Table, c.Key, c.SlotTable = "shop.orders", "shop", "orders", []string{"order_id", "line_no"}, "order_slots"
				c.Counters = []CounterConfig{{Column: "quantity"}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Schema, c.Table = `"a.b"."c ""d"""`, "a.b", `c "d"`
				c.Counters = []CounterConfig{{Column: "n"}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Schema, c.Table = "`a.b`.`c`", "a.b", "c"
				c.Counters = []CounterConfig{{Column: "n"}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Table = "my table", "my table"
				c.Counters = []CounterConfig{{Column: "my counter"}, {Column: "2024"}, {Column: "true"}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Table, c.Key = "statistics", "statistics", []string{}
				c.Counters = []CounterConfig{{Column: "hits.total", Min: number(-5)}}
			}),
			table(func(c *TableConfig) {
				c.Name, c.Schema, c.Table = `pg."Case"`, "pg", "Case"
				c.Counters = []CounterConfig{{Column: "n"}}
			}),
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			c := mustParse(t, tt.file)
			if c.Version() != 1 || c.AutoMigrate() != tt.autoMigrate || c.RollupInterval() != tt.rollup {
				t.Errorf("version %d, auto_migrate %v, rollup %v", c.Version(), c.AutoMigrate(), c.RollupInterval())
			}
			if got := plain(c.Tables()); !reflect.DeepEqual(got, tt.tables) {
				t.Errorf("got  %#v\nwant %#v", got, tt.tables)
			}
		})
	}
}

// The part of the reads that are compared is 0.01 when nothing is said.
func TestConfigSample(t *testing.T) {
	if s := mustParse(t, "modes.yaml").ShadowSample(); s != 0.25 {
		t.Errorf("sample %v", s)
	}
	if s := mustParse(t, "minimal.yaml").ShadowSample(); s != 0.01 {
		t.Errorf("default sample %v", s)
	}
	for _, sample := range []string{"0", "1", "0.5", "0.0001"} {
		if _, err := Parse([]byte("version: 1\nshadow: {sample: "+sample+"}\ntables: {}\n"), ""); err != nil {
			t.Errorf("sample %s: %v", sample, err)
		}
	}
}

func TestConfigBytes(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"byte order mark", "\ufeffversion: 2\ntables: {}", "f.yaml:1: version 2 is not supported: this slotsql reads version 1"},
		{"lines that end in CR LF", "version: 1 # one\r\n# two\r\ntables: 3\r\n", "f.yaml:3: tables must be a mapping (posts: {counters: {views: }}), got 3"},
		{"not UTF-8", "version: 1\ntables: {}\n# é \xff", "f.yaml:3: file is not valid UTF-8: save it as UTF-8"},
		{"too large", strings.Repeat(" ", maxConfigBytes+1), "f.yaml: file is larger than 1 MiB: leave out what is not configuration"},
		{"too many entries", strings.Repeat("a:\n", maxConfigTokens), "f.yaml: file has too many entries (100000 YAML tokens, the limit is 50000): configure fewer tables"},
		{"nested brackets", "a: " + strings.Repeat("[", 40_000), "f.yaml:1: values are nested too deeply: tables.<table>.counters.<column>.min is the deepest there is"},
		{"nested dashes", strings.Repeat("- ", 40_000) + "a", "f.yaml:1: values are nested too deeply: tables.<table>.counters.<column>.min is the deepest there is"},
		{"empty", "", "f.yaml:1: version is missing: start the file with version: 1\nf.yaml:1: tables is missing: name the counter tables, or write tables: {} for none"},
		{"long name", "version: 1\ntables:\n  " + strings.Repeat("x", 300) + ":\n    counters: {n: }",
			`f.yaml:3: table "` + strings.Repeat("x", 80) + `...": has a name of 300 bytes: no name may be longer than 256`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.data), "f.yaml")
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Inputs that once made the parser slow must be turned away, or read, at once.
func TestConfigBounded(t *testing.T) {
	var deep strings.Builder
	for i := range 1400 {
		deep.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for name, data := range map[string]string{
		"anchors":       strings.Repeat("&a ", 20_000),
		"anchor lines":  strings.Repeat("&a\n", 20_000),
		"tags":          strings.Repeat("!a ", 20_000),
		"marks":         strings.Repeat("? ", 20_000),
		"blocks":        deep.String(),
		"wide":          strings.Repeat("a: {x: 1}\n", 7_000),
		"flow":          "a: [" + strings.Repeat("x,", 24_000) + "]",
		"long":          "a: " + strings.Repeat("x", 1_000_000),
		"long key":      strings.Repeat("x", 500_000) + ": {" + strings.Repeat("y: {}, ", 5_000) + "}",
		"long table":    "tables: {" + strings.Repeat("x", 500_000) + ": {" + strings.Repeat("y: {}, ", 5_000) + "}}",
		"long quoted":   `a: "` + strings.Repeat(`\u00e9`, 160_000) + `"`,
		"many problems": "version: 1\ntables:\n" + strings.Repeat("  a.b.c: {x: 1}\n", 7_000),
		"newlines":      strings.Repeat("\n", maxConfigBytes),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse([]byte(data), "f.yaml")
			if err == nil {
				t.Error("no error")
			} else if n := len(err.Error()); n > 20<<20 {
				t.Errorf("an error text of %d bytes", n)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestConfigImmutable(t *testing.T) {
	c := mustParse(t, "design.yaml")
	before := plain(c.Tables())
	for _, table := range c.Tables() {
		table.Key[0] = "x"
		table.Counters[0].Column = "x"
		*table.Counters[2].Min = 7
		table.Companions[0].Merge = "x"
	}
	if after := plain(c.Tables()); !reflect.DeepEqual(before, after) {
		t.Errorf("changed to %#v", after)
	}
}

func TestFindConfig(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(EnvConfig, "")

	_, err := FindConfig()
	if !errors.Is(err, ErrConfig) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	for _, part := range []string{"SLOTSQL_CONFIG", "slotsql.yaml"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not name %s: %v", part, err)
		}
	}

	if err := os.WriteFile("slotsql.yaml", []byte("version: 1\ntables: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := FindConfig(); err != nil || c.File() != "slotsql.yaml" {
		t.Errorf("working directory: %v", err)
	}

	t.Setenv(EnvConfig, filepath.Join(dir, "other.yaml"))
	_, err = FindConfig()
	if !errors.Is(err, ErrConfig) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "SLOTSQL_CONFIG") {
		t.Errorf("missing named file: %v", err)
	}
	if err := os.WriteFile("other.yaml", []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ce *ConfigError
	if _, err := FindConfig(); !errors.As(err, &ce) || ce.Problems[0].File != filepath.Join(dir, "other.yaml") {
		t.Errorf("named file: %v", err)
	}

	if _, err := Load(dir); !errors.Is(err, ErrConfig) {
		t.Errorf("a directory: %v", err)
	}
}

func TestProblemString(t *testing.T) {
	for want, p := range map[string]Problem{
		"f:7: m":    {File: "f", Line: 7, Column: 2, Message: "m"},
		"f: m":      {File: "f", Message: "m"},
		"line 7: m": {Line: 7, Message: "m"},
		"m":         {Message: "m"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestProblemPath(t *testing.T) {
	_, err := Parse([]byte("version: 1\ntables:\n  \"a.b\":\n    key: [id, id]\n    counters: {n: {min: x}}\n    slots: -1\n"), "")
	var ce *ConfigError
	if !errors.As(err, &ce) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range ce.Problems {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Path))
	}
	want := []string{`4:15 tables."a.b".key[1]`, `5:25 tables."a.b".counters.n.min`, `6:12 tables."a.b".slots`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
