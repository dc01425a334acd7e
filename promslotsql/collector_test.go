package promslotsql

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/metrictest"
)

// What has been counted is collected, and all names are valid and different.
func TestCollector(t *testing.T) {
	c, table := metrictest.Count(t)
	stuck := metrictest.Stuck(t)
	if _, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{}); err != nil {
		t.Fatal(err)
	}
	woken := metrictest.Wake(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values, lags := map[string]float64{}, map[string]float64{}
	processes := 0
	for _, f := range families {
		if f.GetName() == "slotsql_process_start_timestamp_seconds" && f.GetMetric()[0].GetLabel()[1].GetValue() == strconv.Itoa(os.Getpid()) {
			processes++
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "slotsql_rollup_lag_seconds" && l.GetName() == "db_collection_name" {
					lags[l.GetValue()] = m.GetGauge().GetValue()
				}
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
	if _, known := lags[stuck]; known || lags[table] <= 0 {
		t.Errorf("lags %v, with that of %s, which is not known", lags, stuck)
	}
	if processes != 1 {
		t.Errorf("%d processes", processes)
	}
	ago := float64(time.Now().Unix()) - values["woken slotsql_awake_changed_timestamp_seconds"]
	if values["woken slotsql_awake"] != 1 || values["by another process"] != 1 || ago < -1 || ago > 600 {
		t.Errorf("collected %v, %g s ago", values, ago)
	}
}

// Every number that slotsql counts is a metric.
func TestEveryNumberIsCollected(t *testing.T) {
	metrictest.EveryNumber[slotsql.StatementStats](t, len(statements))
	metrictest.EveryNumber[slotsql.RollUpStats](t, len(rollUps)+1) // the lag
	metrictest.EveryNumber[slotsql.ShadowStats](t, len(shadows))
}
