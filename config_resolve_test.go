package slotsql

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql/internal/config"
)

// A configuration built in code is that of the same YAML.
func TestConfigInCode(t *testing.T) {
	whole, none, no, all := int64(3), 0, false, 1.0
	built := &Config{
		AutoMigrate: true,
		Tables: map[string]TableConfig{
			"app.posts": {
				Key:        []string{"id"},
				Counters:   map[string]CounterConfig{"views": {}, "stock": {Min: 0, Max: "capacity", Recount: "SELECT id, COUNT(*) FROM \"o<>&\" GROUP BY id"}},
				Companions: map[string]string{"updated_at": "latest"},
				Mode:       "passive", Placement: "random", OnDrain: "warn", Reads: "base", SlotTable: "counts", DeferTriggers: true,
				Coalesce: &no, ForeignKeys: &no, Views: []string{"top_posts"}, Routines: []string{"recount"},
			},
			"counters": {Key: []string{}, Slots: &none, Counters: map[string]CounterConfig{"n": {Tickets: &TicketsConfig{Block: 100}}}},
			"events":   {Layout: "shared", Counters: map[string]CounterConfig{"n": {RecordType: &whole}}},
			"logins":   {Touch: []string{"at"}, Versions: []string{"version"}},
		},
		Shared:       map[string]SharedConfig{"slotted": {Count: "n"}},
		Rollup:       &RollupConfig{Interval: 90 * time.Second, Idle: time.Hour, Batch: 10},
		ShadowSample: &all, StatsInterval: time.Minute,
	}
	const file = `
version: 1
auto_migrate: true
tables:
  app.posts:
    key: [id]
    counters: {stock: {min: 0, max: capacity, recount: 'SELECT id, COUNT(*) FROM "o<>&" GROUP BY id'}, views: }
    companions: {updated_at: latest}
    mode: passive
    placement: random
    on_drain: warn
    reads: base
    slot_table: counts
    defer_triggers: true
    coalesce: false
    foreign_keys: false
    views: [top_posts]
    routines: [recount]
  counters: {key: [], slots: 0, counters: {n: {tickets: {block: 100}}}}
  events: {layout: shared, counters: {n: {record_type: 3}}}
  logins: {touch: [at], versions: [version]}
shared: {slotted: {columns: {count: n}}}
rollup: {interval: 90s, idle: 1h, batch: 10}
shadow: {sample: 1}
log: {stats: 1m}
`
	parsed, err := Parse([]byte(file), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sameConfig(t, built, parsed)
	field := reflect.TypeFor[TableConfig]()
	for i := range field.NumField() { // so that none is forgotten
		set := false
		for _, table := range built.Tables {
			set = set || !reflect.ValueOf(table).Field(i).IsZero()
		}
		if !set {
			t.Errorf("the test has no table with %s", field.Field(i).Name)
		}
	}
}

// sameConfig compares what is in force.
func sameConfig(t *testing.T, built, parsed *Config) {
	t.Helper()
	b, err := built.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsed.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for _, differs := range []bool{
		b.AutoMigrate() != p.AutoMigrate(), b.Rollup != p.Rollup, b.ShadowSample() != p.ShadowSample(), b.StatsInterval() != p.StatsInterval(),
		len(b.Tables()) != len(p.Tables()),
	} {
		if differs {
			t.Fatalf("%+v\n%+v", b, p)
		}
	}
	theirs := p.Tables()
	for _, table := range b.Tables() {
		i := slices.IndexFunc(theirs, func(o config.TableConfig) bool { return o.Name == table.Name })
		if i < 0 {
			t.Fatalf("%s is missing", table.Name)
		}
		if x, y := inForce(t, table), inForce(t, theirs[i]); x != y {
			t.Errorf("%s\n%s", x, y)
		}
	}
}

// inForce writes the exported fields of a table as on SQLite, whose default of slots is its
// own. Counters have no order in code.
func inForce(t *testing.T, table config.TableConfig) string {
	t.Helper()
	slices.SortFunc(table.Counters, func(a, b config.CounterConfig) int { return strings.Compare(a.Column, b.Column) })
	slices.SortFunc(table.Companions, func(a, b config.CompanionConfig) int { return strings.Compare(a.Column, b.Column) })
	table.Bind(0)
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What was loaded and has been changed in code is what it was, but for the change.
func TestLoadedConfigChanged(t *testing.T) {
	files, err := filepath.Glob("internal/config/testdata/valid/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		loaded, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		same, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		same.loaded = nil // as after a change
		sameConfig(t, same, loaded)
		loaded.AutoMigrate = !loaded.AutoMigrate
		if valid, err := loaded.Resolve(); err != nil || valid.AutoMigrate() != loaded.AutoMigrate {
			t.Errorf("%s: the change is lost, %v", file, err)
		}
	}
}

// Problems of a configuration in code have the path of the key, and no line.
func TestConfigInCodeProblems(t *testing.T) {
	slots := 5000
	_, err := (&Config{Tables: map[string]TableConfig{"posts": {Slots: &slots, Counters: map[string]CounterConfig{"views": {Min: 2.5}}}}}).Resolve()
	var problems *ConfigError
	if !errors.As(err, &problems) || len(problems.Problems) != 2 || problems.Problems[0].Line != 0 || strings.Contains(err.Error(), "line") {
		t.Errorf("%v", err)
	}
	if _, err := (&Config{}).Resolve(); err != nil {
		t.Errorf("no tables: %v", err)
	}
	valid, err := (&Config{Tables: map[string]TableConfig{"posts": {Counters: map[string]CounterConfig{"views": {}}}}}).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if p := valid.Tables()[0].Problem("counters.views", "does not fit"); p.Line != 0 || p.String() != `table "posts": does not fit` {
		t.Errorf("found later: %q", p)
	}
}

// The keys of a table in code are those of the file.
func TestConfigKeys(t *testing.T) {
	text, err := os.ReadFile("docs/slotsql.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Definitions struct {
			Table struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	typ := reflect.TypeFor[TableConfig]()
	for i := range typ.NumField() {
		key, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if _, ok := schema.Definitions.Table.Properties[key]; !ok {
			t.Errorf("%s: the file has no key %q", typ.Field(i).Name, key)
		}
		delete(schema.Definitions.Table.Properties, key)
	}
	if len(schema.Definitions.Table.Properties) > 0 {
		t.Errorf("not in TableConfig: %v", schema.Definitions.Table.Properties)
	}
}
