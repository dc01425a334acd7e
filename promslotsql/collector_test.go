package promslotsql

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/metrictest"
)

// What has been counted is collected, and all names are valid and different.
func TestCollector(t *testing.T) {
	_, table := metrictest.Count(t)
	woken := metrictest.Wake(t)
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
				switch {
				case l.GetName() == "db_collection_name" && l.GetValue() == table:
					values[f.GetName()] += m.GetCounter().GetValue()
				case l.GetName() == "db_collection_name" && l.GetValue() == woken:
					values["woken "+f.GetName()] += m.GetGauge().GetValue()
				case l.GetName() == "woken_by":
					values["by "+l.GetValue()] += m.GetGauge().GetValue()
				}
			}
		}
	}
	if values["slotsql_statements_total"] < 2 || values["slotsql_slotted_total"] != 1 || values["slotsql_drains_total"] != 1 {
		t.Errorf("collected %v", values)
	}
	ago := float64(time.Now().Unix()) - values["woken slotsql_awake_changed_timestamp_seconds"]
	if values["woken slotsql_awake"] != 1 || values["by another process"] != 1 || ago < -1 || ago > 600 {
		t.Errorf("collected %v, %g s ago", values, ago)
	}
}

// Every number that slotsql counts is a metric.
func TestEveryNumberIsCollected(t *testing.T) {
	metrictest.EveryNumber[slotsql.StatementStats](t, len(statements))
	metrictest.EveryNumber[slotsql.RollUpStats](t, len(rollUps))
	metrictest.EveryNumber[slotsql.ShadowStats](t, len(shadows))
}
