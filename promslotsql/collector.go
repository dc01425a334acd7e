// Package promslotsql exports slotsql's counts as Prometheus metrics:
//
//	prometheus.MustRegister(promslotsql.NewCollector())
//
// It reads slotsql.Stats, slotsql.Sleeps, slotsql.RollUps and slotsql.Shadows when it is
// scraped, and costs nothing in between. It does not measure the duration of statements: use a wrapper
// outside slotsql, such as otelsql, for that.
package promslotsql

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/status"
)

var _ prometheus.Collector = (*Collector)(nil)

// Collector collects the metrics of all drivers of this process.
type Collector struct{}

// NewCollector returns a collector. One per process is enough.
func NewCollector() *Collector { return &Collector{} }

// metric is one number of what is counted in S.
type metric[S any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*S) float64
}

// kindLabels tell kinds of statements apart. The tables of a statement are joined by commas.
var kindLabels = []string{"db_system_name", "db_collection_name", "class", "reason", "scope"}

var tableLabels = []string{"db_system_name", "db_collection_name"}

func counter[S any](name, help string, labels []string, value func(*S) uint64) metric[S] {
	return metric[S]{
		prometheus.NewDesc("slotsql_"+name+"_total", help, labels, nil),
		prometheus.CounterValue,
		func(s *S) float64 { return float64(value(s)) },
	}
}

var statements = []metric[slotsql.StatementStats]{
	counter("statements", "Statements on counter tables, failed ones included.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Statements }),
	counter("drains", "How often slots were folded for statements, per table.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Drains }),
	counter("fallbacks", "Increments that were not slotted when they ran: no row, a NULL, the end of a range, an argument that does not fit.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Fallbacks }),
	counter("coalesced", "Executions that were part of another one's statement.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Coalesced }),
	counter("cold", "Statements that ran alone on the base row, as written: nothing has waited for it, or there was nothing to fold.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Cold }),
	counter("grouped", "Increments that shared a statement on the base row.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Grouped }),
	counter("slotted", "Increments that went to slots.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Slotted }),
	counter("heated", "How often a row has become hot.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Heated }),
	counter("tickets", "Numbers that were drawn from leased blocks.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Tickets }),
	counter("observed", "Queries that ran as written because there were no slots.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Observed }),
	counter("folded_first", "Queries that ran as written after their slots had been folded.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.FoldedFirst }),
	counter("exact", "Queries that ran in the way that is exact beside slots.", kindLabels,
		func(s *slotsql.StatementStats) uint64 { return s.Exact }),
}

var rollUps = []metric[slotsql.RollUpStats]{
	counter("rollup_passes", "Passes over the table, to their end.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Passes }),
	counter("rollup_moved_rows", "Slot rows moved into base rows.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Moved }),
	counter("rollup_merged_rows", "Slot rows merged, because their base row was locked.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Merged }),
	counter("rollup_deleted_rows", "Empty slot rows deleted.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Deleted }),
	counter("rollup_orphan_rows", "Slot rows without a base row deleted.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Orphans }),
	counter("rollup_skipped_rows", "Slot rows skipped, because they were locked.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Skipped }),
	counter("rollup_conflicts", "Batches that met a conflict.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Conflicts }),
	counter("rollup_errors", "Base rows that could not take what slots hold.", tableLabels,
		func(s *slotsql.RollUpStats) uint64 { return s.Errors }),
}

// awake and changed are what a process knows of a table. The label woken_by of a table that never woke is empty.
var (
	awake = prometheus.NewDesc("slotsql_awake", "Whether the table has slots, and so does not sleep, and what woke it last.",
		[]string{"db_system_name", "db_collection_name", "woken_by"}, nil)
	changed = prometheus.NewDesc("slotsql_awake_changed_timestamp_seconds", "When the table was last found to have woken or fallen asleep.",
		tableLabels, nil)
	process = prometheus.NewDesc("slotsql_process_start_timestamp_seconds", "When the process started, its id, its host, and the version of slotsql in it.",
		[]string{"process_pid", "host_name", "version"}, nil)
	lag = prometheus.NewDesc("slotsql_rollup_lag_seconds",
		"Age of the oldest increment that may still be in a slot; missing where the last pass has left any behind.", tableLabels, nil)
	trialKept = prometheus.NewDesc("slotsql_trial_kept", "Whether slots were kept after their last trial.", tableLabels, nil)
	trialRate = prometheus.NewDesc("slotsql_trial_increments_per_second", "Increments of the table a second in the last trial of slots.",
		[]string{"db_system_name", "db_collection_name", "on"}, nil)
)

var shadows = []metric[slotsql.ShadowStats]{
	counter("shadow_statements", "Statements on tables in shadow mode.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.Statements }),
	counter("shadow_compared", "Reads that were run both ways and compared.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.Compared }),
	counter("shadow_differences", "Compared reads that differ.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.Differences }),
	counter("shadow_behind", "Differences while slots held something.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.Behind }),
	counter("shadow_undecided", "Compared reads that differ in what their text leaves open.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.Undecided }),
	counter("shadow_not_compared", "Reads that could not be compared.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.NotCompared }),
	counter("shadow_failed", "Comparisons that an error or the time ended.", kindLabels,
		func(s *slotsql.ShadowStats) uint64 { return s.Failed }),
}

// Describe implements prometheus.Collector.
func (*Collector) Describe(out chan<- *prometheus.Desc) {
	describe(out, statements)
	describe(out, rollUps)
	describe(out, shadows)
	out <- process
	out <- lag
	out <- awake
	out <- changed
	out <- trialKept
	out <- trialRate
}

// Collect implements prometheus.Collector.
func (*Collector) Collect(out chan<- prometheus.Metric) {
	p := status.ThisProcess()
	out <- prometheus.MustNewConstMetric(process, prometheus.GaugeValue, float64(p.Started.UnixMilli())/1000, strconv.Itoa(p.ID), p.Host, p.Version)
	for _, s := range slotsql.Stats() {
		collect(out, statements, &s, system(s.Dialect), strings.Join(s.Tables, ","), s.Class, s.Reason, s.Scope)
	}
	for _, s := range slotsql.RollUps() {
		collect(out, rollUps, &s, system(s.Dialect), s.Table)
		if s.Lag > 0 {
			out <- prometheus.MustNewConstMetric(lag, prometheus.GaugeValue, s.Lag.Seconds(), system(s.Dialect), s.Table)
		}
	}
	for _, s := range slotsql.Sleeps() {
		out <- prometheus.MustNewConstMetric(awake, prometheus.GaugeValue, gauge(s.Awake), system(s.Dialect), s.Table, s.WokenBy)
		if !s.Since.IsZero() {
			out <- prometheus.MustNewConstMetric(changed, prometheus.GaugeValue, float64(s.Since.UnixMilli())/1000, system(s.Dialect), s.Table)
		}
		if t := s.Trial; !t.At.IsZero() {
			out <- prometheus.MustNewConstMetric(trialKept, prometheus.GaugeValue, gauge(t.Kept), system(s.Dialect), s.Table)
			if t.Before > 0 || t.With > 0 {
				out <- prometheus.MustNewConstMetric(trialRate, prometheus.GaugeValue, t.Before, system(s.Dialect), s.Table, "base rows")
				out <- prometheus.MustNewConstMetric(trialRate, prometheus.GaugeValue, t.With, system(s.Dialect), s.Table, "slots")
			}
		}
	}
	for _, s := range slotsql.Shadows() {
		collect(out, shadows, &s, system(s.Dialect), strings.Join(s.Tables, ","), s.Class, s.Reason, s.Scope)
	}
}

func describe[S any](out chan<- *prometheus.Desc, metrics []metric[S]) {
	for _, m := range metrics {
		out <- m.desc
	}
}

func collect[S any](out chan<- prometheus.Metric, metrics []metric[S], s *S, labels ...string) {
	for _, m := range metrics {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), labels...)
	}
}

// gauge is 1 for what is true, and else 0.
func gauge(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// system is a dialect's name by the conventions of OpenTelemetry.
func system(dialect string) string {
	if dialect == "postgres" {
		return "postgresql"
	}
	return dialect
}
