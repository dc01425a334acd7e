package slotsql

import (
	"time"

	"github.com/slotsql/slotsql/internal/config"
)

// ErrConfig is matched, with errors.Is, by every error about the
// configuration: a file that is missing, cannot be read, is not valid, or does
// not fit the database. Problems inside a file come as a *ConfigError, whose Problems
// give File, Line, Column, Path and Message of each.
var ErrConfig = config.ErrConfig

// Config is a configuration: what slotsql.yaml has, by the same names. Load, Parse and
// FindConfig return that of a file, whose defaults are in each table; a program may change
// it, or build its own. docs/configuration.md describes each key. WithConfig, Register,
// OpenDB and WrapConnector copy and validate it, with the same rules for both.
type Config struct {
	// AutoMigrate creates missing slot tables at the first connection.
	AutoMigrate bool
	// Tables are the counter tables by name: the table's, or schema.table.
	Tables map[string]TableConfig
	// Shared are the slot tables of tables with layout shared, by name. Without any it is
	// slotted_counters.
	Shared map[string]SharedConfig
	// Rollup is the roll-up inside the application; nil for none.
	Rollup *RollupConfig
	// ShadowSample is the share of reads that are compared on tables with mode shadow, from
	// 0 to 1; nil for the default, 0.01.
	ShadowSample *float64
	// StatsInterval is how often the counts of statements are logged; 0 for never.
	StatsInterval time.Duration

	loaded *loadedConfig // nil for one built in code
}

// loadedConfig is what a file had.
type loadedConfig struct {
	fields Config
	valid  *config.Config
}

// TableConfig is the configuration of one counter table. A zero field is a key that the
// file does not have.
type TableConfig struct {
	// Key are the key columns: nil for the primary key, empty but not nil for a single-row
	// table.
	Key []string `json:"key,omitzero"`
	// Counters are the counters, by column.
	Counters map[string]CounterConfig `json:"counters,omitempty"`
	// Companions are ordinary columns that increments set, and how their values merge:
	// latest, max or min.
	Companions map[string]string `json:"companions,omitempty"`
	// Touch are columns whose last writer wins.
	Touch []string `json:"touch,omitempty"`
	// Versions are columns whose statements expect a value (compare and set).
	Versions []string `json:"versions,omitempty"`
	// Mode is on (the default), passive, shadow or off.
	Mode string `json:"mode,omitempty"`
	// Layout is dedicated (the default), shared or journal.
	Layout string `json:"layout,omitempty"`
	// Slots is the maximum number of slot rows for each row of the table, up to 4096; 0 for
	// none, and nil for the default: 64, and on SQLite none.
	Slots *int `json:"slots,omitempty"`
	// Placement is adaptive (the default), connection, random or skip_locked.
	Placement string `json:"placement,omitempty"`
	// Coalesce lets increments that overlap share a statement; nil for the default, true.
	Coalesce *bool `json:"coalesce,omitempty"`
	// OnDrain is run (the default), warn or error.
	OnDrain string `json:"on_drain,omitempty"`
	// Reads is exact (the default) or base.
	Reads string `json:"reads,omitempty"`
	// SlotTable is the slot table's name; "" for the default.
	SlotTable string `json:"slot_table,omitempty"`
	// ForeignKeys gives the slot table a foreign key to the table; nil for the default, true.
	ForeignKeys *bool `json:"foreign_keys,omitempty"`
	// DeferTriggers allows triggers on UPDATE to fire when slots are folded, instead of for
	// each increment.
	DeferTriggers bool `json:"defer_triggers,omitempty"`
	// Views are views over the table, and Routines procedures and functions of the database
	// that use its counters.
	Views    []string `json:"views,omitempty"`
	Routines []string `json:"routines,omitempty"`
}

// CounterConfig is one counter of a table.
type CounterConfig struct {
	// Min and Max are the bounds: an integer, or a string that names a column of the same
	// row; nil for none.
	Min any `json:"min,omitempty"`
	Max any `json:"max,omitempty"`
	// Recount is a query that returns the right value for each key. See Verify.
	Recount string `json:"recount,omitempty"`
	// Tickets leases blocks of numbers for statements that draw one; nil for none.
	Tickets *TicketsConfig `json:"tickets,omitempty"`
	// RecordType identifies the counter's slots in a shared slot table; nil for other layouts.
	RecordType *int64 `json:"record_type,omitempty"`
}

// TicketsConfig are the tickets of a counter: Block is how many numbers a process leases at
// most.
type TicketsConfig struct {
	Block int64 `json:"block"`
}

// SharedConfig names the columns of a slot table that several tables share: the counter's
// record type, the key of the base row, the number of the slot, and what the slot holds. ""
// is for the default: record_type, record_id, slot and count.
type SharedConfig struct {
	Type  string `json:"type,omitempty"`
	ID    string `json:"id,omitempty"`
	Slot  string `json:"slot,omitempty"`
	Count string `json:"count,omitempty"`
}

// RollupConfig is the roll-up inside the application. Interval is the time between two
// passes, Batch the maximum number of slot rows that a transaction moves, and Idle how often
// empty slot rows are deleted. Batch and Idle are 0 for the default.
type RollupConfig struct {
	Interval time.Duration
	Batch    int
	Idle     time.Duration
}

// ConfigError holds every problem found in a configuration, in the order of
// the file's lines. Its field Problems has at least one. Error lists them all, and Is
// matches ErrConfig.
type ConfigError = config.ConfigError

// Problem is one problem of a configuration, and what to do about it. File is the name
// given to Parse or the path given to Load. Line and Column count from 1, and are 0 if the
// problem is not at one place of the file. Path is the key concerned, such as
// tables.posts.slots; "" for the whole file. Message names the thing and says what to do.
// String returns all of it.
type Problem = config.Problem

// FindConfig loads the file that SLOTSQL_CONFIG names or, if that is not set,
// slotsql.yaml in the working directory. If neither exists, the error names both and
// matches ErrConfig and fs.ErrNotExist.
func FindConfig() (*Config, error) {
	return ownConfig(config.FindConfig())
}

// Load reads and validates a configuration file of at most 1 MiB. Problems in the file
// are returned as a *ConfigError, and a file that cannot be read as the system's error.
// Both match ErrConfig.
func Load(path string) (*Config, error) {
	return ownConfig(config.Load(path))
}

// Parse validates a configuration given as YAML. The filename is used in messages only.
// It reports all problems at once, as a *ConfigError. For the same bytes the result is
// always the same, and time and memory are bounded.
func Parse(data []byte, filename string) (*Config, error) {
	return ownConfig(config.Parse(data, filename))
}
