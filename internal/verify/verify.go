package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/rollup"
	"github.com/slotsql/slotsql/internal/session"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Options are the options of Verify. Zero fields have defaults.
type Options struct {
	// Tables are names of counter tables; all of them when it is empty.
	Tables []string
	// Fix corrects what Verify finds, where there is a right value.
	Fix bool
	// Patience is how long Verify tries again to lock rows that others have
	// locked: one minute, if it is 0.
	Patience time.Duration
	// Progress, if set, is called with the number of rows after each that has
	// been looked at under lock.
	Progress func(rows int)
}

// The kinds of findings.
const (
	FindingOrphan = "orphan" // slot rows whose base row is not there
	FindingSlot   = "slot"   // slot rows with a number that no increment uses
	FindingMin    = "min"    // a total below its counter's min
	FindingDrift  = "drift"  // a total that is not what the counter's recount gives
	FindingFit    = "fit"    // the slot table no longer fits its table, see Problem
)

// Finding is something that is wrong, or worth knowing.
type Finding struct {
	Kind string `json:"kind"`
	// Key is the row's key by its columns; nil where the table has none, or
	// values of its type cannot be known.
	Key     map[string]string `json:"key,omitempty"`
	Counter string            `json:"counter,omitempty"`
	// Is and Should are the total and what it should be: exactly for a drift,
	// at least for a min.
	Is     string `json:"is,omitempty"`
	Should string `json:"should,omitempty"`
	Slots  int    `json:"slots,omitempty"` // slot rows of an orphan or slot
	// Problem describes a fit, which Migrate corrects.
	Problem string `json:"problem,omitempty"`
	Fixed   bool   `json:"fixed"`
	// Info reports whether nothing is wrong: slot rows have legal numbers that this
	// configuration does not use, because its "slots" was reduced or is higher in another
	// process. Totals count them. One finding stands for all of a table: Rows is the
	// number of their base rows, and Key the key of one.
	Info bool `json:"info,omitempty"`
	Rows int  `json:"rows,omitempty"`
}

// Report is what Verify found in one table.
type Report struct {
	Table    string    `json:"table"`
	Findings []Finding `json:"findings"`
	// Recounted are the counters that have been held against their recount.
	Recounted []string `json:"recounted,omitempty"`
	// Notes are what has not been checked.
	Notes []string      `json:"notes,omitempty"`
	Took  time.Duration `json:"took_ns"`
}

// Wrong is the number of findings of something wrong that is not fixed.
func (r *Report) Wrong() (n int) {
	for _, f := range r.Findings {
		if !f.Fixed && !f.Info {
			n++
		}
	}
	return n
}

const defaultVerifyPatience = time.Minute

// Run is slotsql.Verify.
func Run(ctx context.Context, on *session.Shared, o Options) ([]Report, error) {
	if o.Patience == 0 {
		o.Patience = defaultVerifyPatience
	}
	cfg := on.Config.Audited()
	s := session.NewFor(on.Dialect, cfg, cfg.Tables()) // whatever their mode
	s.Logger, s.Dial = on.Logger, on.Dial
	mover, err := rollup.NewWorker(s.Catalog, rollup.Options{})
	if err != nil {
		return nil, err
	}
	mover.Free = true
	defer mover.Close()
	v := &verifier{options: o, shared: s, mover: mover}
	defer v.close()
	sc, err := mover.Open(ctx)
	if err != nil {
		return nil, err
	}
	fits, known, err := v.fits(ctx, sc)
	if err != nil {
		return nil, err
	}
	tables, err := catalog.ChosenTables(known, o.Tables)
	if err != nil {
		return nil, err
	}
	var reports []Report
	for _, t := range tables {
		r := Report{Table: t.Name, Findings: append([]Finding{}, fits[t]...)}
		start := time.Now()
		for _, p := range sc.Plain {
			if p.Table == t {
				r.Notes = append(r.Notes, fmt.Sprintf("counter %s is not slotted: %s", p.Column, p.Reason))
			}
		}
		if t.Counter.Slots == 0 {
			t = counted(sc, t)
		}
		if len(t.Counter.Counters) == 0 {
			reports = append(reports, r)
			continue // base values are the totals
		}
		err := v.table(ctx, t, s.ConfigOf(t), &r)
		r.Took = time.Since(start)
		reports = append(reports, r)
		if err != nil {
			return reports, fmt.Errorf("slotsql: verifying table %s: %w", t.Name, err)
		}
	}
	return reports, nil
}

// counted is a table without slots, with its counters, of which base values are totals.
func counted(sc *catalog.Schema, t *schema.Table) *schema.Table {
	out, counter := *t, *t.Counter
	counter.Counters, counter.SlotTable.Width, out.Counter = sc.Counted(t), 0, &counter // nothing is asked of a slot table
	return &out
}

// table makes all checks of one table.
func (v *verifier) table(ctx context.Context, t *schema.Table, cfg *config.TableConfig, r *Report) error {
	v.statements = v.mover.Statements(t, nil)
	if t.Counter.Slots > 0 {
		if err := v.orphans(ctx, t, r); err != nil {
			return err
		}
	}
	a := auditOf(v.shared.Dialect, t)
	if a == nil {
		r.Notes = append(r.Notes, "slot numbers, min and recount are not checked: a key value may change on its way through the driver")
		return nil
	}
	if t.Counter.Slots > 0 {
		if err := v.slots(ctx, a, r); err != nil {
			return err
		}
	}
	for i := range cfg.Counters {
		counter := &cfg.Counters[i]
		col, _ := catalog.FindColumn(t, counter.Column)
		if col == nil || counter.Min == nil && counter.Recount == "" {
			continue
		}
		if !t.IsCounter(col.Name) {
			r.Notes = append(
				r.Notes,
				fmt.Sprintf("min and recount of %s are not checked: the counter is not slotted, so its column is its total", col.Name),
			)
			continue
		}
		if counter.Min != nil {
			if err := v.wrong(ctx, a.belowMin(col.Name, *counter.Min), r); err != nil {
				return err
			}
		}
		if counter.Recount != "" {
			check := a.drift(col.Name, counter.Recount)
			if err := v.planned(ctx, check.find("1 = 0")); err != nil {
				return catalog.AsConfigError(
					[]config.Problem{
						cfg.Problem(
							"counters."+config.PathName(counter.Column)+".recount",
							"counter %s: recount %s",
							config.Clip(counter.Column),
							trimmed(err),
						),
					},
				)
			}
			if err := v.wrong(ctx, check, r); err != nil {
				return err
			}
			r.Recounted = append(r.Recounted, col.Name)
		}
	}
	return nil
}
