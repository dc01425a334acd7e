package upkeep

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// MigrateDown drops the slot tables, if they hold nothing: see slotsql.MigrateDown.
func MigrateDown(ctx context.Context, s *catalog.Catalog) (dropped []string, err error) {
	cn, err := catalog.OpenView(ctx, s)
	if err != nil {
		return nil, err
	}
	defer cn.Parent.Close()
	down := &downMigration{conn: cn, dialect: cn.Catalog.Dialect, gone: map[string]bool{}}
	tables, checked, err := down.empty(ctx)
	if err != nil {
		return nil, err
	}
	if dropped, err = dropStored(ctx, cn, checked, Stored{Functions: true, Views: true}); err != nil {
		return nil, err
	}
	if err := cn.LimitLockWaits(ctx); err != nil {
		return nil, err
	}
	for _, t := range tables {
		if down.gone[sharedID(t)] {
			continue
		}
		if err := down.drop(ctx, t); err != nil {
			return dropped, fmt.Errorf("slotsql: dropping slot table %q: %w", t.Counter.SlotTable.Name, err)
		}
		if t.Counter.Layout != schema.LayoutShared || down.gone[sharedID(t)] {
			dropped = append(dropped, t.Counter.SlotTable.Name)
		}
	}
	if _, ok := cn.Catalog.Dialect.(dialect.Leaser); ok {
		leases, err := cn.Look(ctx)("", dialect.LeaseTable)
		if err != nil || leases == nil {
			return dropped, err
		}
		if err := cn.Session().Exec(ctx, "DROP TABLE IF EXISTS "+dialect.LeaseTable); err != nil {
			return dropped, fmt.Errorf("slotsql: dropping table %q: %w", dialect.LeaseTable, err)
		}
		dropped = append(dropped, dialect.LeaseTable)
	}
	return dropped, nil
}

type downMigration struct {
	gone    map[string]bool // shared slot tables, by sharedID
	conn    *catalog.View
	dialect dialect.RollUpper
}

// empty returns the tables that have a slot table, none of which holds
// anything.
func (m *downMigration) empty(ctx context.Context) (tables []*schema.Table, checked []catalog.CheckedTable, err error) {
	checked, problems, err := m.conn.CheckTables(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(problems) > 0 {
		return nil, nil, catalog.AsConfigError(problems)
	}
	var full []string
	for _, t := range checked {
		if t.Table.Counter.Slots == 0 {
			continue // a table by the name of its slot table is another program's
		}
		slots, err := m.conn.SlotTable(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		if slots == nil {
			continue
		}
		some, err := m.full(ctx, t.Table)
		if err != nil {
			return nil, nil, err
		}
		if some {
			full = append(full, t.Table.Counter.SlotTable.Name)
		}
		tables = append(tables, t.Table)
	}
	if len(full) > 0 {
		return nil, nil, notEmpty(full...)
	}
	return tables, checked, nil
}

func notEmpty(tables ...string) error {
	return fmt.Errorf(
		"slotsql: slots hold increments that are not in the base rows (%s): run `slotsql drain` first",
		strings.Join(tables, ", "),
	)
}

func (m *downMigration) statements(t *schema.Table) dialect.RollUp {
	return m.dialect.RollUp(t, dialect.RollUpPart{Limit: 1})
}

func (m *downMigration) full(ctx context.Context, t *schema.Table) (bool, error) {
	rows, err := m.conn.Session().Query(ctx, m.statements(t).Find.SQL)
	return len(rows) > 0, err
}

const dropTries = 60

func (m *downMigration) drop(ctx context.Context, t *schema.Table) (err error) {
	for try := range dropTries {
		if err = m.dropOnce(ctx, t); err == nil || !m.conn.Engine.Retryable(err) || try == dropTries-1 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

func (m *downMigration) dropOnce(ctx context.Context, t *schema.Table) (err error) {
	statements := m.statements(t)
	lock, unlock := m.dialect.LockSlots(t)
	defer func() {
		if err != nil {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), link.EndPatience)
			defer cancel()
			_ = m.conn.Session().ExecAll(clean, statements.Rollback)
			_ = m.conn.Session().ExecAll(clean, unlock)
		}
	}()
	if err := m.conn.Session().ExecAll(ctx, statements.Begin, lock); err != nil {
		return err
	}
	some, err := m.full(ctx, t)
	if err != nil {
		return err
	}
	if some {
		return notEmpty(t.Counter.SlotTable.Name)
	}
	if err := m.conn.Session().ExecAll(ctx, m.conn.Catalog.Dialect.DropSlots(t)); err != nil {
		return err
	}
	gone, err := m.dropShared(ctx, t)
	if err != nil {
		return err
	}
	if err := m.conn.Session().ExecAll(ctx, statements.Commit, unlock); err != nil {
		return err
	}
	m.gone[sharedID(t)] = gone
	return nil
}

// dropShared drops a shared slot table that has no rows, while it is locked. One that has columns which Migrate does not give it is another
// program's, and stays.
func (m *downMigration) dropShared(ctx context.Context, t *schema.Table) (bool, error) {
	if t.Counter.Layout != schema.LayoutShared {
		return false, nil
	}
	d := m.conn.Catalog.Dialect
	slots, err := m.conn.Look(ctx)(t.Counter.SlotTable.Schema, t.Counter.SlotTable.Name)
	if err != nil || slots == nil || len(slots.Columns) != 4 {
		return false, err
	}
	name := d.Quote(t.Counter.SlotTable.Schema) + "." + d.Quote(t.Counter.SlotTable.Name)
	rows, err := m.conn.Session().Query(ctx, "SELECT 1 FROM "+name+" LIMIT 1")
	if err != nil || len(rows) > 0 {
		return false, err
	}
	return true, m.conn.Session().Exec(ctx, "DROP TABLE "+name)
}

// sharedID names a shared slot table; "" for one of the table's own.
func sharedID(t *schema.Table) string {
	if t.Counter.Layout != schema.LayoutShared {
		return ""
	}
	return t.Counter.SlotTable.Schema + "\x00" + t.Counter.SlotTable.Name
}
