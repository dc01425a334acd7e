package otelslotsql

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/metrictest"
)

// What has been counted is collected, with units and attributes.
func TestRegister(t *testing.T) {
	c, table := metrictest.Count(t)
	stuck := metrictest.Stuck(t)
	if _, err := slotsql.RollUp(t.Context(), c, slotsql.RollUpOptions{}); err != nil {
		t.Fatal(err)
	}
	reader := metric.NewManualReader()
	registration, err := Register(metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	sums, units := collect(t, reader, table)
	if sums["slotsql.statements"] < 2 || sums["slotsql.slotted"] != 1 || sums["slotsql.drains"] != 1 || sums["slotsql.rollup.passes"] != 1 {
		t.Errorf("collected %v", sums)
	}
	if units["slotsql.statements"] != "{statement}" || units["slotsql.rollup.lag"] != "s" || units["slotsql.process.start.timestamp"] != "s" {
		t.Errorf("units %v", units)
	}
	_, known := lagOf(t, reader, stuck)
	if lag, measured := lagOf(t, reader, table); known || !measured || lag <= 0 {
		t.Errorf("lag %g of %s, and a lag of %s: %v", lag, table, stuck, known)
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if sums, _ := collect(t, reader, table); len(sums) > 0 {
		t.Errorf("collected after the end: %v", sums)
	}
}

// A table is awake since some time, woken by another process.
func TestAwake(t *testing.T) {
	table := metrictest.Wake(t)
	reader := metric.NewManualReader()
	if _, err := Register(metric.NewMeterProvider(metric.WithReader(reader))); err != nil {
		t.Fatal(err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	awake, since := "", 0.0
	for _, m := range rm.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				if name, _ := p.Attributes.Value("db.collection.name"); name.AsString() == table {
					by, _ := p.Attributes.Value("woken_by")
					awake += fmt.Sprint(m.Name, " ", p.Value, ", ", by.AsString())
				}
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				if name, _ := p.Attributes.Value("db.collection.name"); name.AsString() == table && m.Name == "slotsql.awake.changed.timestamp" {
					since = p.Value
				}
			}
		}
	}
	ago := float64(time.Now().Unix()) - since
	if awake != "slotsql.awake 1, another process" || ago < -1 || ago > 600 {
		t.Errorf("%s, %g s ago", awake, ago)
	}
}

// collect returns what is collected of a table, and all units.
func collect(t *testing.T, reader *metric.ManualReader, of string) (sums map[string]int64, units map[string]string) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	sums, units = map[string]int64{}, map[string]string{}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			units[m.Name] = m.Unit
			data, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, p := range data.DataPoints {
				table, _ := p.Attributes.Value("db.collection.name")
				system, _ := p.Attributes.Value("db.system.name")
				if table.AsString() == of && system.AsString() == "sqlite" {
					sums[m.Name] += p.Value
				}
			}
		}
	}
	return sums, units
}

// lagOf returns the lag that is collected of a table, if there is one.
func lagOf(t *testing.T, reader *metric.ManualReader, of string) (lag float64, known bool) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	for _, m := range rm.ScopeMetrics[0].Metrics {
		if m.Name != "slotsql.rollup.lag" {
			continue
		}
		for _, p := range m.Data.(metricdata.Gauge[float64]).DataPoints {
			if table, _ := p.Attributes.Value("db.collection.name"); table.AsString() == of {
				return p.Value, true
			}
		}
	}
	return 0, false
}

// Every number that slotsql counts is a metric.
func TestEveryNumberIsCollected(t *testing.T) {
	metrictest.EveryNumber[slotsql.StatementStats](t, len(statements))
	metrictest.EveryNumber[slotsql.RollUpStats](t, len(rollUps)+1) // the lag
	metrictest.EveryNumber[slotsql.ShadowStats](t, len(shadows))
}

// prometheusNames returns the names that Prometheus has for the metrics.
func prometheusNames() map[string]bool {
	names := map[string]bool{
		"slotsql_rollup_lag_seconds": true, "slotsql_awake": true, "slotsql_awake_changed_timestamp_seconds": true,
		"slotsql_process_start_timestamp_seconds": true, "slotsql_trial_kept": true, "slotsql_trial_increments_per_second": true,
	}
	add := func(name string) { names["slotsql_"+strings.ReplaceAll(name, ".", "_")+"_total"] = true }
	for _, c := range statements {
		add(c.name)
	}
	for _, c := range rollUps {
		add(c.name)
	}
	for _, c := range shadows {
		add(c.name)
	}
	return names
}

// The metrics are those of promslotsql, name by name, and the dashboard has no other ones.
func TestNames(t *testing.T) {
	names := prometheusNames()
	source, err := os.ReadFile("../promslotsql/collector.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile(`counter\("(\w+)"|"(slotsql_[a-z_]*[a-z])"`).FindAllSubmatch(source, -1) {
		name := string(m[2])
		if name == "" {
			name = "slotsql_" + string(m[1]) + "_total"
		}
		if !names[name] {
			t.Errorf("promslotsql has %s, which is not here", name)
		}
		found++
	}
	if found != len(names) {
		t.Errorf("promslotsql has %d metrics, and here are %d", found, len(names))
	}
	dashboard, err := os.ReadFile("../docs/observe/grafana-slotsql.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
		t.Error(err)
	}
	for _, panel := range d.Panels {
		if panel.Description == "" {
			t.Errorf("panel %q has no description", panel.Title)
		}
		for _, target := range panel.Targets {
			if !strings.Contains(target.Expr, `instance=~"$instance"`) {
				t.Errorf("panel %q: %s is not of the chosen instance", panel.Title, target.Expr)
			}
		}
	}
	used := regexp.MustCompile(`slotsql_\w+`).FindAllString(string(dashboard), -1)
	if len(used) == 0 {
		t.Error("the dashboard shows no metric")
	}
	for _, name := range used {
		if !names[name] {
			t.Errorf("the dashboard shows %s, which is no metric", name)
		}
	}
}
