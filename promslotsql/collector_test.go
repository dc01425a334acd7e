package promslotsql

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/sqlite"
)

// What has been counted is collected, and all names are valid and different.
func TestCollector(t *testing.T) {
	cfg, err := slotsql.Parse([]byte("version: 1\nauto_migrate: true\ntables: {promposts: {counters: {views: {}}, slots: 4, placement: random}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := slotsql.Open(sqlite.DriverName, filepath.Join(t.TempDir(), "test.db"), slotsql.WithConfig(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE TABLE promposts (id INTEGER PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0)", "INSERT INTO promposts (id) VALUES (1)",
		"UPDATE promposts SET views = views + 1 WHERE id = 1", "UPDATE promposts SET views = 0 WHERE id = 1",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "db_collection_name" && l.GetValue() == "promposts" {
					values[f.GetName()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	if values["slotsql_statements_total"] < 2 || values["slotsql_slotted_total"] != 1 || values["slotsql_drains_total"] != 1 {
		t.Errorf("collected %v", values)
	}
}

// Every number that slotsql counts is a metric.
func TestEveryNumberIsCollected(t *testing.T) {
	for name, c := range map[string]struct {
		stats   reflect.Type
		metrics int
	}{
		"Stats":   {reflect.TypeFor[slotsql.StatementStats](), len(statements)},
		"RollUps": {reflect.TypeFor[slotsql.RollUpStats](), len(rollUps)},
		"Shadows": {reflect.TypeFor[slotsql.ShadowStats](), len(shadows)},
	} {
		var numbers []string
		for i := range c.stats.NumField() {
			if k := c.stats.Field(i).Type.Kind(); k == reflect.Uint64 || k == reflect.Int64 {
				numbers = append(numbers, c.stats.Field(i).Name)
			}
		}
		if len(numbers) != c.metrics {
			t.Errorf("%s has %s, of which %d are metrics", name, strings.Join(numbers, ", "), c.metrics)
		}
	}
}
