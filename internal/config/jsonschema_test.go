package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

// node is what the test reads of a JSON schema.
type node struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Enum                 []string
	Minimum, Maximum     *float64
	Properties           map[string]*node
	AdditionalProperties json.RawMessage
	AnyOf                []*node
	Definitions          map[string]*node
}

func readSchema(t *testing.T) *node {
	t.Helper()
	b, err := os.ReadFile("../../docs/slotsql.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	root := &node{}
	if err := json.Unmarshal(b, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// The schema that editors use has the keys of the decoder at each level, no more and no fewer.
func TestSchemaHasTheKeys(t *testing.T) {
	root := readSchema(t)
	shared := &node{}
	if err := json.Unmarshal(root.Properties["shared"].AdditionalProperties, shared); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   *node
		keys []string
	}{
		"root":           {root, rootKeys},
		"defaults":       {root.Properties["defaults"], defaultKeys},
		"rollup":         {root.Properties["rollup"], rollupKeys},
		"shadow":         {root.Properties["shadow"], shadowKeys},
		"log":            {root.Properties["log"], logKeys},
		"table":          {root.Definitions["table"], tableKeys},
		"counter":        {root.Definitions["counter"].AnyOf[1], counterKeys},
		"shared":         {shared.AnyOf[1], sharedKeys},
		"shared.columns": {shared.AnyOf[1].Properties["columns"], sharedColumnKeys},
	} {
		if got, want := slices.Sorted(maps.Keys(c.at.Properties)), slices.Sorted(slices.Values(c.keys)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the decoder %v", name, got, want)
		}
		if string(c.at.AdditionalProperties) != "false" {
			t.Errorf("%s: the schema allows other keys", name)
		}
	}
}

// What the schema says of a value the decoder says, too.
func TestSchemaHasTheValues(t *testing.T) {
	root := readSchema(t)
	inDefaults := func(key, value string) string {
		return fmt.Sprintf("version: 1\nshared: {s: {}}\ndefaults: {%s: %s}\ntables: {}\n", key, value)
	}
	inTable := func(key, value string) string {
		return fmt.Sprintf("version: 1\ntables: {t: {counters: {n: {}}, %s: %s}}\n", key, value)
	}
	inRollup := func(key, value string) string {
		return fmt.Sprintf("version: 1\nrollup: {interval: 5s, %s: %s}\ntables: {}\n", key, value)
	}
	for _, key := range defaultKeys {
		holds(t, key, root.Definitions[key], inDefaults)
	}
	for _, key := range []string{"defer_triggers"} {
		holds(t, key, root.Definitions["table"].Properties[key], inTable)
	}
	holds(t, "batch", root.Properties["rollup"].Properties["batch"], inRollup)
	holds(t, "auto_migrate", root.Properties["auto_migrate"], func(key, value string) string {
		return fmt.Sprintf("version: 1\n%s: %s\ntables: {}\n", key, value)
	})
}

// holds tries values that the schema takes, and some that it does not.
func holds(t *testing.T, key string, n *node, file func(key, value string) string) {
	t.Helper()
	taken, refused := slices.Clone(n.Enum), []string{"nosuch", "[]", "{}"}
	switch n.Type {
	case "boolean":
		taken, refused = append(taken, "true", "false"), append(refused, "1")
	case "integer":
		low, high := int(*n.Minimum), int(*n.Maximum)
		taken = append(taken, fmt.Sprint(low), fmt.Sprint(high))
		refused = append(refused, fmt.Sprint(low-1), fmt.Sprint(high+1), "1.5")
	}
	if len(taken) == 0 {
		t.Errorf("%s: the schema says nothing of its values", key)
	}
	for _, v := range taken {
		if _, err := Parse([]byte(file(key, v)), "slotsql.yaml"); err != nil {
			t.Errorf("%s: %s is refused: %v", key, v, err)
		}
	}
	for _, v := range refused {
		if _, err := Parse([]byte(file(key, v)), "slotsql.yaml"); err == nil {
			t.Errorf("%s: %s is accepted", key, v)
		}
	}
}
