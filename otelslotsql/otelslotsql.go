// Package otelslotsql exports slotsql's counts as OpenTelemetry metrics:
//
//	_, err := otelslotsql.Register(otel.GetMeterProvider())
//
// It reads slotsql.Stats, slotsql.Sleeps, slotsql.RollUps and slotsql.Shadows when metrics
// are collected, and costs nothing in between. It provides neither durations nor spans of statements:
// use a wrapper outside slotsql, such as otelsql, for that. GroupTracer links the spans
// of executions that share a statement.
//
// With an exporter for Prometheus, the metrics have the same names and labels as those of
// promslotsql.
package otelslotsql

import (
	"context"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/status"
)

// scope is the name of the instrumentation.
const scope = "github.com/slotsql/slotsql/otelslotsql"

// counter is one number of what is counted in S, which only grows.
type counter[S any] struct {
	name, unit, help string
	value            func(*S) uint64
}

var statements = []counter[slotsql.StatementStats]{
	{"statements", "{statement}", "Statements on counter tables, failed ones included.",
		func(s *slotsql.StatementStats) uint64 { return s.Statements }},
	{"drains", "{drain}", "How often slots were folded for statements, per table.",
		func(s *slotsql.StatementStats) uint64 { return s.Drains }},
	{"fallbacks", "{statement}", "Increments that were not slotted when they ran: no row, a NULL, the end of a range, an argument that does not fit.",
		func(s *slotsql.StatementStats) uint64 { return s.Fallbacks }},
	{"coalesced", "{statement}", "Executions that were part of another one's statement.",
		func(s *slotsql.StatementStats) uint64 { return s.Coalesced }},
	{"cold", "{statement}", "Statements that ran alone on the base row, as written: nothing has waited for it, or there was nothing to fold.",
		func(s *slotsql.StatementStats) uint64 { return s.Cold }},
	{"grouped", "{statement}", "Increments that shared a statement on the base row.",
		func(s *slotsql.StatementStats) uint64 { return s.Grouped }},
	{"slotted", "{statement}", "Increments that went to slots.",
		func(s *slotsql.StatementStats) uint64 { return s.Slotted }},
	{"heated", "{row}", "How often a row has become hot.",
		func(s *slotsql.StatementStats) uint64 { return s.Heated }},
	{"tickets", "{number}", "Numbers that were drawn from leased blocks.",
		func(s *slotsql.StatementStats) uint64 { return s.Tickets }},
	{"observed", "{query}", "Queries that ran as written because there were no slots.",
		func(s *slotsql.StatementStats) uint64 { return s.Observed }},
	{"folded_first", "{query}", "Queries that ran as written after their slots had been folded.",
		func(s *slotsql.StatementStats) uint64 { return s.FoldedFirst }},
	{"exact", "{query}", "Queries that ran in the way that is exact beside slots.",
		func(s *slotsql.StatementStats) uint64 { return s.Exact }},
}

var rollUps = []counter[slotsql.RollUpStats]{
	{"rollup.passes", "{pass}", "Passes over the table, to their end.", func(s *slotsql.RollUpStats) uint64 { return s.Passes }},
	{"rollup.moved_rows", "{row}", "Slot rows moved into base rows.", func(s *slotsql.RollUpStats) uint64 { return s.Moved }},
	{"rollup.merged_rows", "{row}", "Slot rows merged, because their base row was locked.",
		func(s *slotsql.RollUpStats) uint64 { return s.Merged }},
	{"rollup.deleted_rows", "{row}", "Empty slot rows deleted.", func(s *slotsql.RollUpStats) uint64 { return s.Deleted }},
	{"rollup.orphan_rows", "{row}", "Slot rows without a base row deleted.", func(s *slotsql.RollUpStats) uint64 { return s.Orphans }},
	{"rollup.skipped_rows", "{row}", "Slot rows skipped, because they were locked.",
		func(s *slotsql.RollUpStats) uint64 { return s.Skipped }},
	{"rollup.conflicts", "{batch}", "Batches that met a conflict.", func(s *slotsql.RollUpStats) uint64 { return s.Conflicts }},
	{"rollup.errors", "{row}", "Base rows that could not take what slots hold.", func(s *slotsql.RollUpStats) uint64 { return s.Errors }},
}

const (
	lagHelp     = "Age of the oldest increment that may still be in a slot; missing where the last pass has left any behind."
	processHelp = "When the process started, its id, its host, and the version of slotsql in it."
	awakeHelp   = "Whether the table has slots, and so does not sleep, and what woke it last."
	changedHelp = "When the table was last found to have woken or fallen asleep."
	keptHelp    = "Whether slots were kept after their last trial."
	rateHelp    = "Increments of the table a second in the last trial of slots."
)

var shadows = []counter[slotsql.ShadowStats]{
	{"shadow.statements", "{statement}", "Statements on tables in shadow mode.", func(s *slotsql.ShadowStats) uint64 { return s.Statements }},
	{"shadow.compared", "{read}", "Reads that were run both ways and compared.", func(s *slotsql.ShadowStats) uint64 { return s.Compared }},
	{"shadow.differences", "{read}", "Compared reads that differ.", func(s *slotsql.ShadowStats) uint64 { return s.Differences }},
	{"shadow.behind", "{read}", "Differences while slots held something.", func(s *slotsql.ShadowStats) uint64 { return s.Behind }},
	{"shadow.undecided", "{read}", "Compared reads that differ in what their text leaves open.",
		func(s *slotsql.ShadowStats) uint64 { return s.Undecided }},
	{"shadow.not_compared", "{read}", "Reads that could not be compared.", func(s *slotsql.ShadowStats) uint64 { return s.NotCompared }},
	{"shadow.failed", "{read}", "Comparisons that an error or the time ended.", func(s *slotsql.ShadowStats) uint64 { return s.Failed }},
}

// Register exports the metrics of all drivers of this process through a provider, until
// the registration is removed. One per provider is enough.
func Register(provider metric.MeterProvider) (metric.Registration, error) {
	m := provider.Meter(scope)
	var all []metric.Observable
	s, err := instruments(m, statements, &all)
	if err != nil {
		return nil, err
	}
	r, err := instruments(m, rollUps, &all)
	if err != nil {
		return nil, err
	}
	sh, err := instruments(m, shadows, &all)
	if err != nil {
		return nil, err
	}
	lag, err := m.Float64ObservableGauge("slotsql.rollup.lag", metric.WithUnit("s"), metric.WithDescription(lagHelp))
	if err != nil {
		return nil, err
	}
	process, err := m.Float64ObservableGauge("slotsql.process.start.timestamp", metric.WithUnit("s"), metric.WithDescription(processHelp))
	if err != nil {
		return nil, err
	}
	awake, err := m.Int64ObservableGauge("slotsql.awake", metric.WithUnit("{table}"), metric.WithDescription(awakeHelp))
	if err != nil {
		return nil, err
	}
	changed, err := m.Float64ObservableGauge("slotsql.awake.changed.timestamp", metric.WithUnit("s"), metric.WithDescription(changedHelp))
	if err != nil {
		return nil, err
	}
	kept, err := m.Int64ObservableGauge("slotsql.trial.kept", metric.WithUnit("{table}"), metric.WithDescription(keptHelp))
	if err != nil {
		return nil, err
	}
	rate, err := m.Float64ObservableGauge("slotsql.trial.increments", metric.WithUnit("{increment}/s"), metric.WithDescription(rateHelp))
	if err != nil {
		return nil, err
	}
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		p := status.ThisProcess()
		o.ObserveFloat64(process, float64(p.Started.UnixMilli())/1000, metric.WithAttributes(
			attribute.Int("process.pid", p.ID), attribute.String("host.name", p.Host), attribute.String("version", p.Version)))
		for _, st := range slotsql.Stats() {
			observe(o, s, statements, &st, ofKind(st.Dialect, st.Tables, st.Class, st.Reason, st.Scope))
		}
		for _, st := range slotsql.RollUps() {
			attrs := metric.WithAttributes(ofTables(st.Dialect, st.Table)...)
			observe(o, r, rollUps, &st, attrs)
			if st.Lag > 0 {
				o.ObserveFloat64(lag, st.Lag.Seconds(), attrs)
			}
		}
		for _, st := range slotsql.Sleeps() {
			attrs := ofTables(st.Dialect, st.Table)
			with := func(key, value string) metric.MeasurementOption {
				return metric.WithAttributes(append(slices.Clip(attrs), attribute.String(key, value))...)
			}
			o.ObserveInt64(awake, gauge(st.Awake), with("woken_by", st.WokenBy))
			if !st.Since.IsZero() {
				o.ObserveFloat64(changed, float64(st.Since.UnixMilli())/1000, metric.WithAttributes(attrs...))
			}
			if t := st.Trial; !t.At.IsZero() {
				o.ObserveInt64(kept, gauge(t.Kept), metric.WithAttributes(attrs...))
				if t.Before > 0 || t.With > 0 {
					o.ObserveFloat64(rate, t.Before, with("on", "base rows"))
					o.ObserveFloat64(rate, t.With, with("on", "slots"))
				}
			}
		}
		for _, st := range slotsql.Shadows() {
			observe(o, sh, shadows, &st, ofKind(st.Dialect, st.Tables, st.Class, st.Reason, st.Scope))
		}
		return nil
	}, append(all, process, lag, awake, changed, kept, rate)...)
}

// instruments makes one for each counter, and adds them to all.
func instruments[S any](m metric.Meter, counters []counter[S], all *[]metric.Observable) ([]metric.Int64ObservableCounter, error) {
	var out []metric.Int64ObservableCounter
	for _, c := range counters {
		i, err := m.Int64ObservableCounter("slotsql."+c.name, metric.WithUnit(c.unit), metric.WithDescription(c.help))
		if err != nil {
			return nil, err
		}
		out, *all = append(out, i), append(*all, i)
	}
	return out, nil
}

func observe[S any](
	o metric.Observer, instruments []metric.Int64ObservableCounter, counters []counter[S], s *S, attrs metric.MeasurementOption,
) {
	for i, c := range counters {
		o.ObserveInt64(instruments[i], int64(c.value(s)), attrs)
	}
}

// gauge is 1 for what is true, and else 0.
func gauge(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// ofTables are the attributes of tables, by the conventions of OpenTelemetry.
func ofTables(dialect string, tables ...string) []attribute.KeyValue {
	if dialect == "postgres" {
		dialect = "postgresql"
	}
	return []attribute.KeyValue{attribute.String("db.system.name", dialect), attribute.String("db.collection.name", strings.Join(tables, ","))}
}

// ofKind are the attributes of a kind of statements.
func ofKind(dialect string, tables []string, class, reason, scope string) metric.MeasurementOption {
	kind := []attribute.KeyValue{attribute.String("class", class), attribute.String("reason", reason), attribute.String("scope", scope)}
	return metric.WithAttributes(append(ofTables(dialect, tables...), kind...)...)
}
