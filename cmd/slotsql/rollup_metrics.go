package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/status"
)

// The metrics are those of promslotsql, in Prometheus' text format. They are so few that
// they are written here: the Prometheus client is a dependency of that module alone, not
// of every application with slotsql.
var rollupMetrics = []struct {
	name, kind, help string
	value            func(*slotsql.RollUpStats) float64
}{
	{"rollup_passes_total", "counter", "Passes over the table, to their end.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Passes) }},
	{"rollup_moved_rows_total", "counter", "Slot rows moved into base rows.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Moved) }},
	{"rollup_merged_rows_total", "counter", "Slot rows merged, because their base row was locked.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Merged) }},
	{"rollup_deleted_rows_total", "counter", "Empty slot rows deleted.", func(s *slotsql.RollUpStats) float64 { return float64(s.Deleted) }},
	{"rollup_orphan_rows_total", "counter", "Slot rows without a base row deleted.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Orphans) }},
	{"rollup_skipped_rows_total", "counter", "Slot rows skipped, because they were locked.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Skipped) }},
	{"rollup_conflicts_total", "counter", "Batches that met a conflict.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Conflicts) }},
	{"rollup_errors_total", "counter", "Base rows that could not take what slots hold.",
		func(s *slotsql.RollUpStats) float64 { return float64(s.Errors) }},
	{"rollup_lag_seconds", "gauge", "Age of the oldest increment that may still be in a slot; missing where the last pass has left any behind.",
		func(s *slotsql.RollUpStats) float64 { return s.Lag.Seconds() }},
}

var labelValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// writeMetrics writes what the roll-up of this process has done. Held reports whether it
// has the lease.
func writeMetrics(w io.Writer, dialect string, held bool, stats []slotsql.RollUpStats) {
	const leader = "slotsql_rollup_leader"
	n := 0
	if held {
		n = 1
	}
	fmt.Fprintf(w, "# HELP %s Whether this worker has the lease: others stand by.\n# TYPE %s gauge\n%s %d\n", leader, leader, leader, n)
	const process = "slotsql_process_start_timestamp_seconds"
	p := status.ThisProcess()
	fmt.Fprintf(w, "# HELP %s When the process started, its id, its host, and the version of slotsql in it.\n# TYPE %s gauge\n", process, process)
	fmt.Fprintf(w, "%s{process_pid=\"%d\",host_name=\"%s\",version=\"%s\"} %d\n",
		process, p.ID, labelValue.Replace(p.Host), labelValue.Replace(p.Version), p.Started.Unix())
	if dialect == "postgres" {
		dialect = "postgresql" // by the conventions of OpenTelemetry
	}
	for _, m := range rollupMetrics {
		fmt.Fprintf(w, "# HELP slotsql_%s %s\n# TYPE slotsql_%s %s\n", m.name, m.help, m.name, m.kind)
		for i := range stats {
			if m.value(&stats[i]) == 0 && m.kind == "gauge" {
				continue // not known
			}
			fmt.Fprintf(w, "slotsql_%s{db_system_name=\"%s\",db_collection_name=\"%s\"} %g\n",
				m.name, dialect, labelValue.Replace(stats[i].Table), m.value(&stats[i]))
		}
	}
}
