package slotsql

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/slotsql/slotsql/internal/config"
)

// ConfigOf returns the configuration that slotsql's own commands have read.
func ConfigOf(valid *config.Config) *Config {
	c := fieldsOf(valid)
	c.loaded = &loadedConfig{fieldsOf(valid), valid} // a copy, since a program may change c's maps
	return &c
}

func ownConfig(valid *config.Config, err error) (*Config, error) {
	if err != nil {
		return nil, err
	}
	return ConfigOf(valid), nil
}

// Resolve validates the configuration, for slotsql's own commands. Problems are returned as
// a *ConfigError, without lines if the configuration is not as it was loaded.
func (c *Config) Resolve() (*config.Config, error) {
	fields := *c
	fields.loaded = nil
	if c.loaded != nil && reflect.DeepEqual(fields, c.loaded.fields) {
		return c.loaded.valid, nil
	}
	text, err := json.Marshal(fields.document()) // which is YAML
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return config.ParseBuilt(text)
}

// document is what the file would have.
func (c *Config) document() any {
	type document map[string]any
	tables := c.Tables
	if tables == nil {
		tables = map[string]TableConfig{}
	}
	out := document{"version": 1, "auto_migrate": c.AutoMigrate, "tables": tables}
	if len(c.Shared) > 0 {
		shared := document{}
		for name, s := range c.Shared {
			shared[name] = document{"columns": s}
		}
		out["shared"] = shared
	}
	if r := c.Rollup; r != nil {
		rollup := document{"interval": r.Interval.String()}
		if r.Idle != 0 {
			rollup["idle"] = r.Idle.String()
		}
		if r.Batch != 0 {
			rollup["batch"] = r.Batch
		}
		out["rollup"] = rollup
	}
	if c.ShadowSample != nil {
		out["shadow"] = document{"sample": *c.ShadowSample}
	}
	if c.StatsInterval != 0 {
		out["log"] = document{"stats": c.StatsInterval.String()}
	}
	return out
}

// fieldsOf returns a configuration as its file has it, with its defaults in each table.
func fieldsOf(valid *config.Config) Config {
	c := Config{AutoMigrate: valid.AutoMigrate(), Tables: map[string]TableConfig{}, StatsInterval: valid.StatsInterval()}
	if sample := valid.ShadowSample(); sample != config.DefaultSample {
		c.ShadowSample = &sample
	}
	if r := valid.Rollup; r.Interval != 0 {
		c.Rollup = &RollupConfig{Interval: r.Interval, Idle: r.Idle, Batch: r.Batch}
	}
	for _, t := range valid.Tables() {
		c.Tables[t.Name] = tableFields(&t)
		if s := t.Shared; s != nil {
			if c.Shared == nil {
				c.Shared = map[string]SharedConfig{}
			}
			c.Shared[s.Table] = SharedConfig{Type: s.Type, ID: s.ID, Slot: s.Slot, Count: s.Count}
		}
	}
	return c
}

func tableFields(t *config.TableConfig) TableConfig {
	defaults := config.TableDefaults()
	out := TableConfig{
		Key: t.Key, Touch: t.Touch, Versions: t.Versions, SlotTable: t.SlotTable, DeferTriggers: t.DeferTriggers,
		Views: t.Views, Routines: t.Routines,
		Mode: changed(t.Mode, defaults.Mode), Layout: changed(t.Layout, defaults.Layout), Placement: changed(t.Placement, defaults.Placement),
		OnDrain: changed(t.OnDrain, defaults.OnDrain), Reads: changed(t.Reads, defaults.Reads),
	}
	if t.Given("slots") && len(t.Counters) > 0 {
		out.Slots = &t.Slots
	}
	if !t.Coalesce {
		out.Coalesce = new(bool)
	}
	if t.NoForeignKeys {
		out.ForeignKeys = new(bool)
	}
	for _, counter := range t.Counters {
		if out.Counters == nil {
			out.Counters = map[string]CounterConfig{}
		}
		out.Counters[counter.Column] = counterFields(&counter)
	}
	for _, c := range t.Companions {
		if out.Companions == nil {
			out.Companions = map[string]string{}
		}
		out.Companions[c.Column] = string(c.Merge)
	}
	return out
}

func counterFields(c *config.CounterConfig) CounterConfig {
	out := CounterConfig{Recount: c.Recount, RecordType: c.RecordType}
	out.Min, out.Max = bound(c.Min, c.MinColumn), bound(c.Max, c.MaxColumn)
	if c.Block != 0 {
		out.Tickets = &TicketsConfig{Block: c.Block}
	}
	return out
}

func bound(number *int64, column string) any {
	switch {
	case number != nil:
		return *number
	case column != "":
		return column
	}
	return nil
}

// changed is a word that is not the default one, or "".
func changed[T ~string](word, otherwise T) string {
	if word == otherwise {
		return ""
	}
	return string(word)
}
