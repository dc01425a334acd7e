package tickets

import (
	"testing"
	"time"

	"github.com/slotsql/slotsql"
)

// Check, Migrate, Drain and Verify have nothing to do with a table of tickets.
func TestUpkeep(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		for range 20 {
			if _, err := o.draw(t.Context(), o.processes[0], 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.processes[0].Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond) // a lease ahead may be under way
		before := o.base()
		config, err := slotsql.Load(o.p.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		driver := map[string]string{"mysql": "mysql-slotsql", "postgres": "postgres-slotsql", "sqlite": "sqlite3-slotsql"}[dialect]
		c, err := slotsql.OpenConnector(driver, o.p.WrappedDSN, slotsql.WithConfig(config))
		if err != nil {
			t.Fatal(err)
		}
		if tables, err := slotsql.Check(t.Context(), c); err != nil || len(tables) > 0 && tables[0].Missing {
			t.Errorf("check: %+v, %v", tables, err)
		}
		if made, err := slotsql.Migrate(t.Context(), c); err != nil || len(made) > 0 {
			t.Errorf("migrate: %v, %v", made, err)
		}
		if _, err := slotsql.Drain(t.Context(), c, slotsql.DrainOptions{}); err != nil {
			t.Errorf("drain: %v", err)
		}
		if _, err := slotsql.Verify(t.Context(), c, slotsql.VerifyOptions{}); err != nil {
			t.Errorf("verify: %v", err)
		}
		if after := o.base(); after != before {
			t.Errorf("the base row had %d, and has %d", before, after)
		}
	})
}
