package upkeep

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Inspection is what a database itself tells of counter tables at one moment, whatever
// processes use them.
type Inspection struct {
	At time.Time `json:"at"`
	// RollUp reports whether a roll-up has the lease; nil where the engine has none.
	RollUp *bool             `json:"rollup,omitempty"`
	Tables []TableInspection `json:"tables"`
	// Missing are the configured tables that do not exist.
	Missing []string `json:"missing,omitempty"`
	// Lacks are what the session may not see of waiting sessions.
	Lacks []dialect.Lack `json:"lacks,omitempty"`
}

// TableInspection is what a database tells of one counter table.
type TableInspection struct {
	Table     string `json:"table"`
	SlotTable string `json:"slot_table,omitempty"` // "": it has no slots
	// Rows is how many base rows have slots that hold anything, Slots how many slot rows
	// these are, and Idle how many slot rows hold nothing. With More set there are more.
	Rows  int  `json:"rows"`
	Slots int  `json:"slots"`
	Idle  int  `json:"idle"`
	More  bool `json:"more,omitempty"`
	// Awake reports whether there is any slot row. A table without one sleeps: reads of it are plain.
	Awake bool `json:"awake"`
	// Lag is the age of the oldest increment that may still be in a slot: the time since
	// the last pass of a roll-up began. Nil when none is in a slot, when that pass has left
	// anything behind or there has been none, and on engines that do not keep it.
	Lag *time.Duration `json:"lag_ns,omitempty"`
	// Waits is how many sessions wait for a lock on the base table, SlotWaits for one on
	// the slot table; Longest is the time that the longest of them has waited.
	Waits     int           `json:"waits"`
	SlotWaits int           `json:"slot_waits"`
	Longest   time.Duration `json:"longest_wait_ns"`
}

// maxInspected is how many rows with slots are counted.
const maxInspected = 100_000

// Inspector looks at a database again and again, on one connection.
type Inspector struct {
	catalog *catalog.Catalog
	reader  *rollup.Worker
}

// NewInspector returns an inspector of the catalog's tables. It is not connected yet.
func NewInspector(s *catalog.Catalog) (*Inspector, error) {
	c := catalog.NewCatalog(s.Dialect, s.Config.WithoutAutoMigrate(), s.Tables)
	c.Logger, c.Dial, c.Role.Beside = s.Logger, s.Dial, true
	reader, err := rollup.NewWorker(c, rollup.Options{})
	if err != nil {
		return nil, err
	}
	return &Inspector{catalog: c, reader: reader}, nil
}

// Close ends the connection.
func (i *Inspector) Close() { i.reader.Close() }

// Look looks once. It changes nothing and locks nothing.
func (i *Inspector) Look(ctx context.Context) (*Inspection, error) {
	sc, err := i.reader.Open(ctx)
	if err != nil {
		return nil, err
	}
	out := &Inspection{At: time.Now(), Tables: []TableInspection{}}
	passes, err := i.leases(ctx, out)
	if err != nil {
		return nil, err
	}
	counters := sc.Counters()
	for _, t := range counters {
		ti := TableInspection{Table: t.Name, SlotTable: t.Counter.SlotTable.Name}
		if err := i.count(ctx, t, &ti); err != nil {
			return nil, err
		}
		if age, ok := passes[rollup.PassName(t)]; ok && ti.Slots > 0 {
			ti.Lag = &age
		}
		ti.Awake = ti.Slots+ti.Idle > 0
		out.Tables = append(out.Tables, ti)
	}
	for _, t := range sc.Unslotted.BySetting {
		out.Tables = append(out.Tables, TableInspection{Table: t.Name})
	}
	for _, t := range sc.Unslotted.Missing {
		out.Missing = append(out.Missing, t.Table)
	}
	return out, i.waits(ctx, slices.Concat(counters, sc.Unslotted.BySetting), out)
}

// leases reads who rolls up, and how long ago the last passes began.
func (i *Inspector) leases(ctx context.Context, out *Inspection) (passes map[string]time.Duration, err error) {
	l, ok := i.catalog.Dialect.(dialect.Leaser)
	if !ok {
		return nil, nil
	}
	view := i.reader.Conn
	if t, err := view.Look(ctx)("", dialect.LeaseTable); err != nil || t == nil {
		running := false
		out.RollUp = &running
		return nil, err
	}
	held, err := l.Leased(ctx, view.Session())
	if err != nil {
		return nil, err
	}
	running := held[rollup.LeaseName]
	out.RollUp = &running
	if p, ok := i.catalog.Dialect.(dialect.PassNoter); ok {
		return p.Passes(ctx, view.Session())
	}
	return nil, nil
}

// count counts a table's slot rows.
func (i *Inspector) count(ctx context.Context, t *schema.Table, ti *TableInspection) error {
	for _, job := range []rollup.Job{rollup.MoveSlots, rollup.SweepSlots} {
		var after []any
		for n := 0; ; {
			keys, all, err := i.reader.Find(ctx, t, job, after)
			if err != nil {
				return err
			}
			for _, k := range keys {
				if job == rollup.MoveSlots {
					ti.Slots += k.Rows
					ti.Rows++
				} else {
					ti.Idle += k.Rows
				}
			}
			if n += len(keys); all {
				break
			}
			if n >= maxInspected {
				ti.More = true
				break
			}
			after = keys[len(keys)-1].Values
		}
	}
	return nil
}

// waits counts the sessions that wait for locks on the tables and on their slot tables.
func (i *Inspector) waits(ctx context.Context, tables []*schema.Table, out *Inspection) (err error) {
	o, ok := i.catalog.Dialect.(dialect.Observer)
	if !ok {
		return nil
	}
	s := i.reader.Conn.Session()
	if out.Lacks, err = o.Rights(ctx, s); err != nil {
		return err
	}
	waits, err := o.Waits(ctx, s)
	if err != nil {
		if len(out.Lacks) > 0 {
			return nil // the rights that are missing are reported
		}
		return err
	}
	for n, t := range tables {
		ti := &out.Tables[n]
		for _, w := range waits {
			switch {
			case w.Schema == t.Schema && w.Table == t.Name:
				ti.Waits++
			case ti.SlotTable != "" && w.Schema == cmp.Or(t.Counter.SlotTable.Schema, t.Schema) && w.Table == ti.SlotTable:
				ti.SlotWaits++
			default:
				continue
			}
			ti.Longest = max(ti.Longest, w.For)
		}
	}
	return nil
}
