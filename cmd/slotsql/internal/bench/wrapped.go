package bench

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/dialect"
)

// wrapped is the naive scenario through slotsql: the same statements on
// another pool.
type wrapped struct {
	naive
	config string
	leases bool // the table of leases was not there before
}

func newWrapped(w *workload) Scenario { return wrappedWith(w, "") }

func newWrappedNoCoalesce(w *workload) Scenario { return wrappedWith(w, "    coalesce: false\n") }

func wrappedWith(w *workload, keys string) *wrapped {
	counters := "{views: {}}"
	if w.Plan.Budget > 0 {
		counters = "{budget: {min: 0}}"
	}
	return &wrapped{
		naive: naive{newTables(w)},
		config: fmt.Sprintf("version: 1\nauto_migrate: true\ntables:\n  %s:\n    counters: %s\n    slots: %d\n",
			w.name, counters, w.point.Slots) + keys,
	}
}

func (s *wrapped) slotTable() string { return s.pages + "_slots" }

// Setup implements Strategy.
func (s *wrapped) Setup(ctx context.Context) error {
	if err := s.createPages(ctx); err != nil {
		return err
	}
	config, err := slotsql.Parse([]byte(s.config), "bench")
	if err != nil {
		return err
	}
	parent, err := s.Engine.open(s.DSN, dialer(s.point.RoundTrip))
	if err != nil {
		return err
	}
	if s.db, err = slotsql.OpenDB(parent, s.Engine.dialect, config); err != nil {
		return err
	}
	limit(s.db, s.point.Clients)
	there, err := s.there(ctx, dialect.LeaseTable)
	if err != nil {
		return err
	}
	s.leases = !there
	// The first connection creates the slot table, for which an interrupt waits
	// as in create. No table had its name when the benchmark began, and the name
	// is made up at random.
	err = s.db.PingContext(context.WithoutCancel(ctx))
	if there, e := s.there(ctx, s.slotTable()); e == nil && there {
		s.created = append(s.created, s.slotTable())
	}
	if err != nil {
		return err
	}
	return connectAll(ctx, s.db, s.point.Clients)
}

// Teardown also drops the table of leases. The first connection has begun to create it, and does not wait for that on a busy machine.
func (s *wrapped) Teardown(ctx context.Context) error {
	if there, err := s.there(ctx, dialect.LeaseTable); err == nil && there && s.leases {
		s.created = append(s.created, dialect.LeaseTable)
	}
	return s.naive.Teardown(ctx)
}

func (t *tables) there(ctx context.Context, name string) (bool, error) {
	rows, err := t.admin.QueryContext(context.WithoutCancel(ctx), t.Engine.q(t.Engine.like), name)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}

// Total asks twice: as the application does, and the tables themselves.
func (s *wrapped) Total(ctx context.Context) (int64, error) {
	seen, err := s.sum(ctx, s.db, s.pages)
	if err != nil {
		return 0, err
	}
	held, err := s.baseAndSlots(ctx, s.slotTable())
	if err != nil {
		return 0, err
	}
	if seen != held {
		return 0, &InexactError{Acknowledged: held, Total: seen, what: "the tables hold %s, the application reads %s"}
	}
	return seen, nil
}
