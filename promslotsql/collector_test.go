package promslotsql

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/metrictest"
)

// What has been counted is collected, and all names are valid and different.
func TestCollector(t *testing.T) {
	_, table := metrictest.Count(t)
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
				if l.GetName() == "db_collection_name" && l.GetValue() == table {
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
	metrictest.EveryNumber[slotsql.StatementStats](t, len(statements))
	metrictest.EveryNumber[slotsql.RollUpStats](t, len(rollUps))
	metrictest.EveryNumber[slotsql.ShadowStats](t, len(shadows))
}
