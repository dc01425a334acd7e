package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file knows the keys: their types, ranges and defaults, and what must
// hold between them without a look at the database.

const configVersion = 1

// DefaultSample is one read of a hundred.
const DefaultSample = 0.01

// MaxSlots is the largest number of slots; 0 is for none.
const MaxSlots = 4096

// TableDefaults returns the configuration of a table of which the file says nothing.
func TableDefaults() TableConfig { return tableDefaults() }

// tableDefaults are the values that a table has when neither it nor the file's
// defaults say otherwise.
func tableDefaults() TableConfig {
	return TableConfig{
		Mode:      ModeOn,
		Layout:    schema.LayoutDedicated,
		Coalesce:  true,
		Placement: schema.PlacementAdaptive,
		Slots:     DefaultSlots,
		OnDrain:   schema.OnDrainRun,
		Reads:     schema.ReadsExact,
	}
}

var (
	rootKeys    = []string{"version", "auto_migrate", "defaults", "shared", "tables", "rollup", "shadow", "log"}
	defaultKeys = []string{"slots", "coalesce", "placement", "on_drain", "layout", "reads", "mode", "foreign_keys"}
	tableKeys   = []string{
		"mode",
		"key",
		"counters",
		"companions",
		"touch",
		"versions",
		"layout",
		"coalesce",
		"placement",
		"slots",
		"on_drain",
		"reads",
		"slot_table",
		"views",
		"routines",
		"defer_triggers",
		"foreign_keys",
	}
	counterKeys = []string{"min", "max", "recount", "record_type", "tickets"}
	ticketKeys  = []string{"block"}
	rollupKeys  = []string{"interval", "batch", "idle"}

	sharedKeys       = []string{"columns"}
	sharedColumnKeys = []string{"type", "id", "slot", "count"}

	shadowKeys = []string{"sample"}
	logKeys    = []string{"stats"}
)

func (d *decoder) config(root ast.Node) *Config {
	c := &Config{file: d.file, sample: DefaultSample}
	start := position{1, 1}
	entries, ok := d.mapping(root, start, "", "the file", "version: 1, tables: ...")
	if !ok {
		return c
	}
	fallback := tableDefaults()
	fallback.at = map[string]position{}
	var version, tables *entry
	for i := range entries {
		e := &entries[i]
		switch e.name {
		case "version":
			version = e
			d.version(c, e)
		case "auto_migrate":
			d.boolean(&c.autoMigrate, e, "auto_migrate")
		case "defaults":
			sub, _ := d.mapping(e.value, e.valueAt(), e.path, "defaults", "slots: 64")
			for _, s := range sub {
				if !d.option(&fallback, &s, "defaults: ") {
					d.unknown(&s, "defaults: ", defaultKeys)
				}
				fallback.at[defaultsPath+s.name] = s.at
			}
			d.slotlessDefaults(&fallback)
		case "tables":
			tables = e
		case "rollup":
			d.rollup(c, e)
		case "shadow":
			d.shadow(c, e)
		case "log":
			d.log(c, e)
		case "shared":
			d.shared(c, e)
		default:
			d.unknown(e, "", rootKeys)
		}
	}
	if version == nil {
		d.report(start, "version", "version is missing: start the file with version: %d", configVersion)
	}
	// Last, because it needs the defaults wherever they stand.
	if tables == nil {
		d.report(start, "tables", "tables is missing: name the counter tables, or write tables: {} for none")
	} else {
		d.tables(c, tables, fallback)
	}
	return c
}

func (d *decoder) version(c *Config, e *entry) {
	v, ok := whole(e.value)
	switch {
	case !ok:
		d.report(e.valueAt(), e.path, "version must be the number %d, got %s", configVersion, describe(e.value))
	case v != configVersion:
		d.report(e.valueAt(), e.path, "version %d is not supported: this slotsql reads version %d", v, configVersion)
	}
	c.version = int(v)
}

func (d *decoder) rollup(c *Config, e *entry) {
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, "rollup", "interval: 5s")
	if !ok {
		return
	}
	found := false
	for i := range entries {
		s := &entries[i]
		switch s.name {
		case "interval":
			found = true
			d.duration(s, "rollup: interval", &c.Rollup.Interval)
		case "idle":
			d.duration(s, "rollup: idle", &c.Rollup.Idle)
		case "batch":
			if n, ok := whole(s.value); ok && n >= 1 && n <= maxRollUpBatch {
				c.Rollup.Batch = int(n)
			} else {
				d.report(
					s.valueAt(),
					s.path,
					"rollup: batch must be a number of slot rows from 1 to %d, got %s",
					maxRollUpBatch,
					describe(s.value),
				)
			}
		default:
			d.unknown(s, "rollup: ", rollupKeys)
		}
	}
	if !found {
		d.report(e.at, e.path, "rollup: interval is missing: write rollup: {interval: 5s}, or leave rollup out")
	}
}

const maxRollUpBatch = 100000

// duration decodes a duration of more than 0.
func (d *decoder) duration(e *entry, what string, to *time.Duration) {
	written, isText := text(e.value)
	v, err := time.ParseDuration(strings.TrimSpace(written))
	switch {
	case !isText || err != nil:
		d.report(e.valueAt(), e.path, what+" must be a duration with a unit, such as 5s or 1m30s, got %s", describe(e.value))
	case v <= 0:
		d.report(e.valueAt(), e.path, what+" must be more than 0, got %s", Clip(written))
	default:
		*to = v
	}
}

func (d *decoder) log(c *Config, e *entry) {
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, "log", "stats: 1m")
	if !ok {
		return
	}
	for i := range entries {
		s := &entries[i]
		if s.name != "stats" {
			d.unknown(s, "log: ", logKeys)
			continue
		}
		d.duration(s, "log: stats", &c.stats)
	}
}

func (d *decoder) shadow(c *Config, e *entry) {
	entries, ok := d.mapping(e.value, e.valueAt(), e.path, "shadow", "sample: 0.01")
	if !ok {
		return
	}
	for i := range entries {
		s := &entries[i]
		if s.name != "sample" {
			d.unknown(s, "shadow: ", shadowKeys)
			continue
		}
		written, _ := text(s.value)
		v, err := strconv.ParseFloat(written, 64)
		switch s.value.(type) {
		case *ast.IntegerNode, *ast.FloatNode:
		default:
			err = strconv.ErrSyntax
		}
		if err != nil || !(v >= 0 && v <= 1) {
			d.report(
				s.valueAt(),
				s.path,
				"shadow: sample must be a number from 0 (no reads are compared) to 1 (all are), got %s",
				describe(s.value),
			)
			continue
		}
		c.sample = v
	}
}

// option decodes a key that tables and defaults share; false: it is not one.
func (d *decoder) option(t *TableConfig, e *entry, subject string) bool {
	switch e.name {
	case "slots":
		v, ok := whole(e.value)
		if !ok {
			d.report(
				e.valueAt(),
				e.path,
				"%sslots must be a whole number between 0 and %d, got %s",
				subject,
				MaxSlots,
				describe(e.value),
			)
			return true
		}
		if v < 0 || v > MaxSlots {
			d.report(e.valueAt(), e.path, "%sslots must be between 0 and %d, got %d", subject, MaxSlots, v)
		}
		t.Slots = int(v)
	case "mode":
		choose(d, &t.Mode, e, subject+"mode", Modes)
	case "coalesce":
		d.boolean(&t.Coalesce, e, subject+"coalesce")
	case "foreign_keys":
		keys := !t.NoForeignKeys
		d.boolean(&keys, e, subject+"foreign_keys")
		t.NoForeignKeys = !keys
	case "placement":
		choose(d, &t.Placement, e, subject+"placement", placements)
	case "on_drain":
		choose(d, &t.OnDrain, e, subject+"on_drain", onDrains)
	case "reads":
		choose(d, &t.Reads, e, subject+"reads", reads)
	case "layout":
		choose(d, &t.Layout, e, subject+"layout", layouts)
	default:
		return false
	}
	return true
}

func (d *decoder) boolean(v *bool, e *entry, subject string) {
	b, ok := e.value.(*ast.BoolNode)
	if !ok {
		d.report(e.valueAt(), e.path, "%s must be true or false, got %s", subject, describe(e.value))
		return
	}
	*v = b.Value
}

// choose decodes one of a few words.
func choose[T ~string](d *decoder, v *T, e *entry, subject string, allowed []T) {
	s, ok := e.value.(*ast.StringNode)
	if !ok || !slices.Contains(allowed, T(s.Value)) {
		words := make([]string, len(allowed))
		for i, word := range allowed {
			words[i] = string(word)
		}
		last := len(words) - 1
		d.report(
			e.valueAt(),
			e.path,
			"%s must be %s or %s, got %s",
			subject,
			strings.Join(words[:last], ", "),
			words[last],
			describe(e.value),
		)
		return
	}
	*v = T(s.Value)
}

func (d *decoder) unknown(e *entry, subject string, known []string) {
	what := "known keys are " + strings.Join(known, ", ")
	if len(known) == 1 {
		what = "the only key here is " + known[0]
	}
	d.report(e.at, e.path, "%sunknown key %s: %s", subject, Clip(e.name), what)
}
