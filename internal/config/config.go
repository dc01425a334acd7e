package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// EnvConfig is the environment variable that names the configuration file.
const EnvConfig = "SLOTSQL_CONFIG"

// DefaultConfigFile is read from the working directory when EnvConfig is not
// set.
const DefaultConfigFile = "slotsql.yaml"

// maxConfigBytes is the largest configuration file that is read.
const maxConfigBytes = 1 << 20

// ErrConfig is matched, with errors.Is, by every error about the
// configuration: a file that is missing, cannot be read, is not valid, or does
// not fit the database. Problems inside a file come as a *ConfigError.
var ErrConfig = errors.New("slotsql: config")

// ConfigError holds every problem found in a configuration, in the order of
// the file's lines. It has at least one.
type ConfigError struct {
	Problems []Problem
}

// Error returns one line per problem.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Is reports whether target is ErrConfig.
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// Problem is one thing to put right in a configuration.
type Problem struct {
	File    string // the name given to Parse or the path given to Load; may be empty
	Line    int    // from 1; 0 when the problem is not at one place of the file
	Column  int    // from 1, in characters; 0 like Line
	Path    string // the key it is about, such as tables.posts.slots; empty for the whole file
	Message string // names the thing and says what to do
}

// String returns the problem as file:line: message.
func (p Problem) String() string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	case p.File != "":
		return p.File + ": " + p.Message
	case p.Line > 0:
		return fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return p.Message
}

// Config is a validated configuration. It never changes, and is safe for
// concurrent use. Load, Parse and FindConfig make one.
type Config struct {
	file        string
	version     int
	autoMigrate bool
	tables      []TableConfig // in file order
	shared      []SharedConfig
	Rollup      RollUp
	sample      float64 // of the reads of shadow tables
	stats       time.Duration
}

// File returns the name of the file the configuration came from.
func (c *Config) File() string { return c.file }

// RollUp is the roll-up inside the application; zero values are defaults.
type RollUp struct {
	Interval, Idle time.Duration
	Batch          int
}

// Version returns the version of the configuration format: 1.
func (c *Config) Version() int { return c.version }

// AutoMigrate reports whether missing slot tables are created at first connect.
func (c *Config) AutoMigrate() bool { return c.autoMigrate }

// WithoutAutoMigrate returns the same configuration for a command that must not change
// the database.
func (c *Config) WithoutAutoMigrate() *Config {
	other := *c
	other.autoMigrate = false
	return &other
}

// RollupInterval returns the time between two roll-ups inside the application;
// 0 when the application is not to run them.
func (c *Config) RollupInterval() time.Duration { return c.Rollup.Interval }

// StatsInterval returns how often what Stats and Shadows count is logged; 0 when it
// is not.
func (c *Config) StatsInterval() time.Duration { return c.stats }

// ShadowSample returns which part of the reads of tables with mode shadow is
// run both ways and compared: from 0, none, to 1, all.
func (c *Config) ShadowSample() float64 { return c.sample }

// Tables returns the configured tables in the order of the file, defaults
// filled in. The result is a copy.
func (c *Config) Tables() []TableConfig {
	tables := make([]TableConfig, len(c.tables))
	for i := range c.tables {
		tables[i] = c.tables[i].clone()
	}
	return tables
}

// TableConfig is the configuration of one counter table, defaults filled in.
type TableConfig struct {
	Name   string // as written in the file
	Schema string // the part before the dot, quotes taken off; empty when there is none
	Table  string // the table's own name, quotes taken off

	// Key holds the key columns as written. It is nil when the file has no
	// key, which means the primary key, and empty but not nil for a
	// single-row table.
	Key []string

	Counters   []CounterConfig   // in file order, at least one unless there is Touch or Versions
	Companions []CompanionConfig // in file order
	Touch      []string          // ordinary columns whose last writer wins, as written
	Versions   []string          // ordinary columns that a compare and set expects a value of, as written

	Mode      Mode
	Layout    schema.Layout
	Coalesce  bool
	Placement schema.Placement
	Slots     int // at most this many slots per key, to 4096; 0 for none. See Bind.
	OnDrain   schema.OnDrain
	Reads     schema.Reads
	SlotTable string // the slot table's name; empty for the default, <table>_slots

	// Shared is the slot table of layout shared; nil for any other.
	Shared *SharedConfig

	// NoForeignKeys reports whether a slot table is created without a foreign key to
	// the base table.
	NoForeignKeys bool

	// Views are views over the table that are known of, as written.
	Views []string

	// Routines are procedures and functions of the database that read or set
	// counters of the table, as written: a statement that calls one is drained
	// for.
	Routines []string

	// DeferTriggers reports whether triggers on UPDATE of the table may fire when
	// slots are folded, instead of for each increment.
	DeferTriggers bool

	file string
	at   map[string]position // where each key stands, by its path below the table; "" is the table
}

// Bounded reports whether the counter has a bound.
func (c *CounterConfig) Bounded() bool {
	return c.Min != nil || c.Max != nil || c.MinColumn != "" || c.MaxColumn != ""
}

// CounterConfig is one counter of a table.
type CounterConfig struct {
	Column string
	// Min and Max are the bounds that guards of the application's statements keep, in
	// whole numbers; nil where there is none. MinColumn and MaxColumn name a column of
	// the same row that is the bound instead; "" for none.
	Min, Max             *int64
	MinColumn, MaxColumn string
	// Recount is a query that gives the counter's right value for each key; ""
	// when there is none. See Verify.
	Recount string

	// Block is how many numbers a process leases at most for statements that draw
	// one; 0 where the counter has no tickets.
	Block int64

	// RecordType tells the counter's slots from others' in a shared slot table;
	// nil when its table has another layout.
	RecordType *int64
}

// CompanionConfig is one companion of a table: an ordinary column whose
// updates commute under Merge.
type CompanionConfig struct {
	Column string
	Merge  schema.Merge
}

func (t *TableConfig) clone() TableConfig {
	c := *t
	c.Key = slices.Clone(t.Key)
	c.Views = slices.Clone(t.Views)
	c.Routines = slices.Clone(t.Routines)
	c.Counters = slices.Clone(t.Counters)
	for i, counter := range c.Counters {
		if counter.Min != nil {
			m := *counter.Min
			c.Counters[i].Min = &m
		}
		if counter.Max != nil {
			m := *counter.Max
			c.Counters[i].Max = &m
		}
		if counter.RecordType != nil {
			n := *counter.RecordType
			c.Counters[i].RecordType = &n
		}
	}
	c.Companions = slices.Clone(t.Companions)
	c.Touch, c.Versions = slices.Clone(t.Touch), slices.Clone(t.Versions)
	if t.Shared != nil {
		sh := *t.Shared
		c.Shared = &sh
	}
	return c
}

// Problem makes a Problem about the key at path below the table, or about the
// nearest key above it that stands in the file.
func (t *TableConfig) Problem(path, format string, args ...any) Problem {
	p := Problem{
		File:    t.file,
		Path:    joinPath("tables", PathName(t.Name)),
		Message: fmt.Sprintf("table %s: ", Clip(t.Name)) + fmt.Sprintf(format, args...),
	}
	if path != "" {
		p.Path = joinPath(p.Path, path)
	}
	for {
		if at, ok := t.at[path]; ok {
			p.Line, p.Column = at.line, at.column
			return p
		}
		if path == "" {
			return p
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// FindConfig loads the file that SLOTSQL_CONFIG names, else slotsql.yaml of the
// working directory. When there is neither, the error says so and matches
// ErrConfig and fs.ErrNotExist.
func FindConfig() (*Config, error) {
	if path := os.Getenv(EnvConfig); path != "" {
		c, err := Load(path)
		if err != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w (the path comes from %s)", err, EnvConfig)
		}
		return c, err
	}
	c, err := Load(DefaultConfigFile)
	if err != nil && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%[1]w: no configuration found: propose one with `slotsql init --output %[3]s`, set %[2]s to the path of one, "+
			"put %[3]s into the working directory, or pass one in code with slotsql.WithConfig: %[4]w",
			ErrConfig, EnvConfig, DefaultConfigFile, fs.ErrNotExist)
	}
	return c, err
}

// Load reads and validates a configuration file of at most 1 MiB. Problems in
// it come as a *ConfigError; a file that cannot be read, as the system's error.
// Both match ErrConfig.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return Parse(data, path)
}

// Parse validates a configuration given as YAML. The filename is for messages
// only. It reports all problems at once, as a *ConfigError; for the same bytes
// the result is always the same, and time and memory are bounded.
func Parse(data []byte, filename string) (*Config, error) {
	d := &decoder{file: filename}
	var c *Config
	if root, ok := d.parseYAML(data); ok {
		c = d.config(root)
	}
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Column - b.Column
		})
		return nil, &ConfigError{Problems: d.problems}
	}
	return c, nil
}

// ParseBuilt is Parse of what a program has built: problems have no place in a file, neither
// these nor those that are found later.
func ParseBuilt(data []byte) (*Config, error) {
	c, err := Parse(data, "")
	var problems *ConfigError
	if errors.As(err, &problems) {
		for i := range problems.Problems {
			problems.Problems[i].Line, problems.Problems[i].Column = 0, 0
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range c.tables {
		for path := range c.tables[i].at {
			c.tables[i].at[path] = position{}
		}
	}
	return c, nil
}

// Locate gives problems that have no place in a file that of the table.
func (t *TableConfig) Locate(problems []Problem) []Problem {
	for i := range problems {
		if p := &problems[i]; p.Line == 0 {
			at := t.at[""]
			p.File, p.Line, p.Column = t.file, at.line, at.column
			p.Path = joinPath("tables", PathName(t.Name))
		}
	}
	return problems
}

// Audited is the configuration under which tables are audited: reads are exact,
// nothing is refused, and no table is created.
func (c *Config) Audited() *Config {
	out := *c
	out.autoMigrate, out.tables = false, c.Tables()
	for i := range out.tables {
		out.tables[i].Reads, out.tables[i].OnDrain = schema.ReadsExact, schema.OnDrainRun
	}
	return &out
}
