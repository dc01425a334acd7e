package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzConfig holds Parse to these rules, for any bytes:
//
//   - it never panics, and returns either a Config or a *ConfigError with
//     problems in the order of their lines, each at a line that the file has,
//     each one line of text in lower case;
//   - it is deterministic;
//   - a Config has values in their ranges, and written out and parsed again it
//     is equal.
func FuzzConfig(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data, "f.yaml")
		again, errAgain := Parse(data, "f.yaml")
		if !reflect.DeepEqual(c, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("two results: %v, %v; %v, %v", c, err, again, errAgain)
		}
		if err != nil {
			var ce *ConfigError
			if c != nil || !errors.As(err, &ce) || len(ce.Problems) == 0 {
				t.Fatalf("%v beside error %v", c, err)
			}
			checkProblems(t, ce.Problems, data)
			return
		}
		text := writeConfig(c)
		second, err := Parse([]byte(text), "f.yaml")
		if err != nil {
			t.Fatalf("written out:\n%s\n%v", text, err)
		}
		if second.AutoMigrate() != c.AutoMigrate() || second.RollupInterval() != c.RollupInterval() ||
			second.ShadowSample() != c.ShadowSample() ||
			!reflect.DeepEqual(plain(second.Tables()), plain(c.Tables())) {
			t.Fatalf("%+v became %+v by\n%s", c, second, text)
		}
		for _, table := range c.Tables() {
			if table.Table == "" || len(table.Counters)+len(table.Touch)+len(table.Versions) == 0 || table.Slots < 0 || table.Slots > 4096 ||
				!slices.Contains(layouts, table.Layout) ||
				!slices.Contains(onDrains, table.OnDrain) {
				t.Errorf("%+v", table)
			}
		}
	})
}

func checkProblems(t *testing.T, problems []Problem, data []byte) {
	lines := 1 + strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), "\n")
	last := 0
	for _, p := range problems {
		if p.Line < last || p.Line > lines || (p.Line == 0) != (p.Column == 0) {
			t.Errorf("place %d:%d of %d lines after line %d: %s", p.Line, p.Column, lines, last, p.Message)
		}
		last = p.Line
		if p.Message == "" || strings.ContainsAny(p.Message, "\n\x00") || strings.ToLower(p.Message[:1]) != p.Message[:1] {
			t.Errorf("message %q", p.Message)
		}
		if len(p.Message)+len(p.Path) > 4<<10 {
			t.Errorf("message of %d bytes, path of %d", len(p.Message), len(p.Path))
		}
	}
}

// writeConfig writes a configuration as YAML, everything in quotes.
func writeConfig(c *Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: %d\nauto_migrate: %v\n", c.Version(), c.AutoMigrate())
	if c.RollupInterval() > 0 {
		fmt.Fprintf(&b, "rollup: {interval: %v}\n", c.RollupInterval())
	}
	if c.StatsInterval() > 0 {
		fmt.Fprintf(&b, "log: {stats: %v}\n", c.StatsInterval())
	}
	fmt.Fprintf(&b, "shadow: {sample: %s}\n", strconv.FormatFloat(c.ShadowSample(), 'f', -1, 64))
	if len(c.Tables()) == 0 {
		b.WriteString("tables: {}\n")
		return b.String()
	}
	if len(c.shared) > 0 {
		b.WriteString("shared:\n")
	}
	for _, sh := range c.shared {
		fmt.Fprintf(
			&b,
			"  %s: {columns: {type: %s, id: %s, slot: %s, count: %s}}\n",
			yamlQuote(`"`+strings.ReplaceAll(sh.Table, `"`, `""`)+`"`),
			yamlQuote(sh.Type),
			yamlQuote(sh.ID),
			yamlQuote(sh.Slot),
			yamlQuote(sh.Count),
		)
	}
	b.WriteString("tables:\n")
	for _, t := range c.Tables() {
		fmt.Fprintf(
			&b,
			"  %s:\n    layout: %s\n    coalesce: %v\n    placement: %s\n    mode: \"%s\"\n    slots: %d\n    on_drain: %s\n    reads: %s\n",
			yamlQuote(t.Name),
			t.Layout,
			t.Coalesce,
			t.Placement,
			t.Mode,
			t.Slots,
			t.OnDrain,
			t.Reads,
		)
		if t.NoForeignKeys {
			b.WriteString("    foreign_keys: false\n")
		}
		if t.SlotTable != "" {
			fmt.Fprintf(&b, "    slot_table: %s\n", yamlQuote(`"`+strings.ReplaceAll(t.SlotTable, `"`, `""`)+`"`))
		}
		if t.Key != nil {
			quoted := make([]string, len(t.Key))
			for i, k := range t.Key {
				quoted[i] = yamlQuote(k)
			}
			fmt.Fprintf(&b, "    key: [%s]\n", strings.Join(quoted, ", "))
		}
		if len(t.Counters) > 0 {
			b.WriteString("    counters:\n")
		}
		for _, counter := range t.Counters {
			fmt.Fprintf(&b, "      %s:", yamlQuote(counter.Column))
			var options []string
			if counter.Block > 0 {
				options = append(options, fmt.Sprintf("tickets: {block: %d}", counter.Block))
			}
			if counter.Min != nil {
				options = append(options, fmt.Sprintf("min: %d", *counter.Min))
			}
			if counter.Max != nil {
				options = append(options, fmt.Sprintf("max: %d", *counter.Max))
			}
			if counter.MinColumn != "" {
				options = append(options, "min: {column: "+yamlQuote(counter.MinColumn)+"}")
			}
			if counter.MaxColumn != "" {
				options = append(options, "max: {column: "+yamlQuote(counter.MaxColumn)+"}")
			}
			if counter.RecordType != nil {
				options = append(options, fmt.Sprintf("record_type: %d", *counter.RecordType))
			}
			if counter.Recount != "" {
				options = append(options, "recount: "+yamlQuote(counter.Recount))
			}
			if len(options) > 0 {
				fmt.Fprintf(&b, " {%s}", strings.Join(options, ", "))
			}
			b.WriteByte('\n')
		}
		for _, list := range t.sharedColumns() {
			if len(*list.columns) > 0 {
				fmt.Fprintf(&b, "    %s:\n", list.key)
			}
			for _, c := range *list.columns {
				fmt.Fprintf(&b, "      - %s\n", yamlQuote(c))
			}
		}
		if len(t.Companions) > 0 {
			b.WriteString("    companions:\n")
		}
		for _, companion := range t.Companions {
			fmt.Fprintf(&b, "      %s: %s\n", yamlQuote(companion.Column), companion.Merge)
		}
	}
	return b.String()
}

func yamlQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0x7e:
			b.WriteString(`\U` + fmt.Sprintf("%08s", strconv.FormatInt(int64(r), 16)))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
