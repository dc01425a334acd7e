package slotsql

import "github.com/slotsql/slotsql/internal/config"

// ErrConfig is matched, with errors.Is, by every error about the
// configuration: a file that is missing, cannot be read, is not valid, or does
// not fit the database. Problems inside a file come as a *ConfigError.
var ErrConfig = config.ErrConfig

// Config is a validated configuration. It never changes, and is safe for
// concurrent use. Load, Parse and FindConfig make one.
type Config = config.Config

// TableConfig is the configuration of one counter table, defaults filled in.
type TableConfig = config.TableConfig

// CounterConfig is one counter of a table.
type CounterConfig = config.CounterConfig

// CompanionConfig is one companion of a table: an ordinary column whose
// updates commute under Merge.
type CompanionConfig = config.CompanionConfig

// SharedConfig is a slot table that tables with layout: shared keep their slots
// in: one row for each base row, slot and counter.
type SharedConfig = config.SharedConfig

// ConfigError holds every problem found in a configuration, in the order of
// the file's lines. It has at least one.
type ConfigError = config.ConfigError

// Problem is one problem of a configuration, and what to do about it.
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
