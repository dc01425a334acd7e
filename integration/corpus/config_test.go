package corpus

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/slotsql/slotsql/integration/twin"
)

// counterTable is one configured table of an application.
type counterTable struct {
	name     string
	key      []string
	counters []string
}

// unique is a unique key that holds for all rows.
type unique struct {
	primary bool
	columns []string
}

// uniques lists index name, whether it is the primary key, and a column.
var uniques = map[string]string{
	"mysql": "SELECT index_name, index_name = 'PRIMARY', column_name FROM information_schema.statistics " +
		"WHERE table_schema = DATABASE() AND table_name = ? AND non_unique = 0 ORDER BY 1, seq_in_index",
	"postgres": "SELECT i.indexrelid::text, i.indisprimary, a.attname FROM pg_index i " +
		"JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) " +
		"WHERE i.indrelid = quote_ident($1)::regclass AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL " +
		"ORDER BY 1, array_position(i.indkey, a.attnum)",
	"sqlite": "SELECT 'primary key', 1, name FROM pragma_table_info(?1) WHERE pk > 0 UNION ALL " +
		`SELECT l.name, 0, c.name FROM pragma_index_list(?1) l, pragma_index_info(l.name) c WHERE l."unique" AND NOT l.partial ` +
		"AND NOT EXISTS (SELECT 1 FROM pragma_index_info(l.name) e WHERE e.name IS NULL)", // an expression
}

var numeric = regexp.MustCompile(`(?i)int|serial|dec|num|float|double|real`)

// configure writes the configuration of an application, after a look at its
// tables in a database of their own, and says in the log what it leaves out:
// counters that are text, and tables without any key; a key that is not unique
// gives way to the primary key.
//
// With companions, the columns that increments set beside counters are
// declared, too.
func (a application) configure(t *testing.T, companions bool) (string, []counterTable) {
	t.Helper()
	p := twin.New(t, twin.Options{Dialect: a.Dialect, Schema: a.DDL, Open: twin.OpenPlain})
	type option = map[string]any
	config := option{}
	var tables []counterTable
	for _, c := range a.Counters {
		if kind := columnType(t, p, c.Table, c.Column); !numeric.MatchString(kind) {
			t.Logf("left out: %s.%s has type %q", c.Table, c.Column, kind)
			continue
		}
		i := slices.IndexFunc(tables, func(o counterTable) bool { return o.name == c.Table })
		if i < 0 {
			key, ok := a.key(t, p, c)
			if !ok {
				t.Logf("left out: table %s has no unique key", c.Table)
				continue
			}
			entry := option{"counters": option{}, "on_drain": "run"}
			if slices.Equal(key, c.Key) {
				entry["key"] = key
			} else {
				t.Logf("table %s: key %v is not unique, the primary key %v is used", c.Table, c.Key, key)
			}
			config[c.Table] = entry
			i = len(tables)
			tables = append(tables, counterTable{name: c.Table, key: key})
		}
		tables[i].counters = append(tables[i].counters, c.Column)
		o := option{}
		if c.Min != nil {
			o["min"] = *c.Min
		}
		config[c.Table].(option)["counters"].(option)[c.Column] = o
	}
	if companions {
		for table, merges := range a.companions(t, p, tables) {
			config[table].(option)["companions"] = merges
		}
	}
	text, err := yaml.Marshal(option{"version": 1, "auto_migrate": true, "tables": config})
	if err != nil {
		t.Fatal(err)
	}
	return string(text), tables
}

// key returns the configured key if it is unique, else the primary key, else
// none.
func (a application) key(t *testing.T, p *twin.Pair, c counter) ([]string, bool) {
	t.Helper()
	rows, err := p.Plain.QueryContext(t.Context(), uniques[a.Dialect], c.Table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]unique{}
	for rows.Next() {
		var (
			name, column string
			primary      bool
		)
		if err := rows.Scan(&name, &primary, &column); err != nil {
			t.Fatal(err)
		}
		found[name] = unique{primary, append(found[name].columns, column)}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var fallback []string
	for _, u := range found {
		if len(u.columns) == len(c.Key) && !slices.ContainsFunc(u.columns, func(s string) bool { return !slices.Contains(c.Key, s) }) {
			return c.Key, true
		}
		if u.primary {
			fallback = u.columns
		}
	}
	return fallback, fallback != nil
}

func columnType(t *testing.T, p *twin.Pair, table, column string) string {
	t.Helper()
	o := twin.Run(t.Context(), p.Plain, twin.Statement{
		SQL: fmt.Sprintf("SELECT %s FROM %s WHERE 1 = 0", p.Quote(column), p.Quote(table)),
	})
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return o.Sets[0].Columns[0].DatabaseType
}
