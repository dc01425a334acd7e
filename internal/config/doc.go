// Package config reads the configuration: which tables have counters, and how
// each is to be counted.
//
// It turns YAML into a validated Config, which never changes, and reports every
// problem of a file at once, each with its line. It does not look at a database:
// whether a configured table exists and can have such counters is for package
// catalog to say. Nor does it act on anything: an option is a value here.
//
// Load, Parse and FindConfig make a Config; Config.Tables has the tables, defaults
// filled in. decode.go knows YAML and no key, validate.go knows the keys of a file,
// table.go and shared.go those of tables, option.go the words that values are taken
// from.
package config
