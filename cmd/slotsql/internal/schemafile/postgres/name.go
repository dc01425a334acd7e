package postgres

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	dialect "github.com/slotsql/slotsql/dialect/postgres"
)

// This file gives constraints the names that the server would.

// flush creates the indexes that a statement asks for, the primary key first
// and each once, as the server does.
func (s *file) flush(t *table) error {
	list := t.pending
	t.pending = nil
	sort.SliceStable(list, func(i, j int) bool { return list[i].primary && !list[j].primary })
	first := len(t.keys)
	for _, k := range list {
		for _, name := range k.columns {
			c := t.Column(name)
			if c == nil {
				return fmt.Errorf("key on column %q, which does not exist in table %q", name, t.Name)
			}
			if k.primary {
				c.Nullable = false
			}
		}
		same := slices.IndexFunc(t.keys[first:], func(o index) bool {
			return k.label != "idx" && slices.Equal(o.named, k.named) && slices.Equal(o.columns, k.columns) && o.exact == k.exact
		})
		if same >= 0 {
			if o := &t.keys[first+same]; !o.chosen() && k.name != "" {
				o.name = k.name
			}
			continue
		}
		t.keys = append(t.keys, k)
	}
	for i := first; i < len(t.keys); i++ {
		s.name(t, &t.keys[i])
	}
	return nil
}

func (k *index) chosen() bool { return k.name != "" }

// name gives an index the name that the server would choose for it.
func (s *file) name(t *table, k *index) {
	if k.name == "" {
		columns := strings.Join(k.named, "_")
		if k.primary {
			columns = ""
		}
		for i := 0; ; i++ {
			label := k.label
			if i > 0 {
				label += fmt.Sprint(i)
			}
			k.name = objectName(t.Name, columns, label)
			if !s.names[t.Schema+"."+k.name] {
				break
			}
		}
	}
	s.names[t.Schema+"."+k.name] = true
}

// objectName is makeObjectName of src/backend/commands/indexcmds.c: the longer
// of the two names is cut until all fits into 63 bytes.
func objectName(name1, name2, label string) string {
	room := 63 - len(label) - 1
	if name2 != "" {
		room--
	}
	n1, n2 := len(name1), len(name2)
	for n1+n2 > room {
		if n1 > n2 {
			n1--
		} else {
			n2--
		}
	}
	out := clipBytes(name1, n1)
	if name2 != "" {
		out += "_" + clipBytes(name2, n2)
	}
	return out + "_" + label
}

// clipBytes cuts a name to at most n bytes, between characters.
func clipBytes(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func quote(name string) string { return dialect.New().Quote(name) }
