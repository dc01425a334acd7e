package slotsql

import "github.com/slotsql/slotsql/internal/config"

// ErrConfig is matched, with errors.Is, by every error about the
// configuration: a file that is missing, cannot be read, is not valid, or does
// not fit the database. Problems inside a file come as a *ConfigError, whose Problems
// give File, Line, Column, Path and Message of each.
var ErrConfig = config.ErrConfig

// Config is a validated configuration. It never changes, and is safe for
// concurrent use. Load, Parse and FindConfig make one.
//
// File is the file's name, Version the version of its format, and Tables the tables in the
// order of the file; TablesOf returns those that have one of the modes. AutoMigrate
// reports whether the first connection creates missing slot tables. RollupInterval is the
// interval of the roll-up inside the application, 0 if there is none, and Rollup its
// Interval, Idle and Batch, 0 if not configured. StatsInterval is the interval at which
// statistics are logged, 0 if they are not, and ShadowSample the share of reads that are
// compared on tables with mode shadow. WithoutAutoMigrate and Audited return changed
// copies, for slotsql's own commands.
type Config = config.Config

// TableConfig is the configuration of one counter table, defaults filled in:
//
//   - Name is as written in the file, Schema the part before the dot, and Table the table's
//     own name, both without quotes.
//   - Key are the key columns: nil for the primary key, empty but not nil for a single-row
//     table.
//   - Counters and Companions are in the order of the file, and so are the columns of Touch,
//     where the last writer wins, and of Versions, whose statements expect a value.
//   - Mode, Layout, Coalesce, Placement, OnDrain and Reads are the keys of the same names.
//     DeferTriggers is defer_triggers, and NoForeignKeys is true for foreign_keys: false.
//   - Slots is the maximum number of slot rows per row of the table, up to 4096; 0 for none.
//     SlotTable is the slot table's name, "" for the default. Shared is the slot table of
//     layout shared, otherwise nil.
//   - Views and Routines are the views over the table, and the procedures and functions that
//     use its counters, as written.
//   - Bind, Locate and Problem are for slotsql's own commands.
type TableConfig = config.TableConfig

// CounterConfig is one counter of a table:
//
//   - Column is its column.
//   - Min and Max are its bounds; nil where there is none. MinColumn and MaxColumn name a
//     column of the same row that is the bound; "" for none. Bounded reports whether there
//     is any bound.
//   - Recount is the query that returns the right value for each key; "" if there is none.
//     See Verify.
//   - Block is how many numbers a process leases at most; 0 for a counter without tickets.
//   - RecordType identifies the counter's slots in a shared slot table; otherwise nil.
type CounterConfig = config.CounterConfig

// CompanionConfig is one companion of a table: an ordinary column, Column, whose updates
// commute under Merge.
type CompanionConfig = config.CompanionConfig

// SharedConfig is the slot table of tables with layout: shared: one row for each base row,
// slot and counter. Table is its name; its schema is that of each base table. Type, ID,
// Slot and Count name its columns: the counter's record type, the key of the base row, the
// number of the slot, and what the slot holds.
type SharedConfig = config.SharedConfig

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
	return config.FindConfig()
}

// Load reads and validates a configuration file of at most 1 MiB. Problems in the file
// are returned as a *ConfigError, and a file that cannot be read as the system's error.
// Both match ErrConfig.
func Load(path string) (*Config, error) {
	return config.Load(path)
}

// Parse validates a configuration given as YAML. The filename is used in messages only.
// It reports all problems at once, as a *ConfigError. For the same bytes the result is
// always the same, and time and memory are bounded.
func Parse(data []byte, filename string) (*Config, error) {
	return config.Parse(data, filename)
}
