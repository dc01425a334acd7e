package shadow

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotsql/slotsql"
)

// A fleet goes from shadow to on and to off, one process after another, while
// all of them count, one of them on the plain driver, and a roll-up runs. No
// statement fails, processes that have the table on never see a total go back,
// and in the end the base values are the totals.
func TestRollout(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		p, table := newTable(t, dialect, "fleet")
		text := func(mode string) string { return configOf(table, mode, all) }
		if _, err := slotsql.Migrate(t.Context(), connector(t, p, text("shadow"))); err != nil {
			t.Fatal(err)
		}
		process := func(mode string) *sql.DB {
			if mode == "plain" {
				return p.Under
			}
			return open(t, p, text(mode))
		}
		const processes, steps = 4, 12
		count := fmt.Sprintf("UPDATE %s SET views = views + 1, likes = COALESCE(likes, 0) + 2 WHERE id = 1", table)
		read := fmt.Sprintf("SELECT views FROM %s WHERE id = 1", table)
		// Which modes the processes have at each stage; all count in each.
		var counted atomic.Int64
		for stage, modes := range [][processes]string{
			{"shadow", "shadow", "shadow", "plain"},
			{"on", "shadow", "shadow", "plain"},
			{"on", "on", "shadow", "plain"},
			{"on", "on", "on", "plain"},
			{"on", "off", "shadow", "plain"},
			{"off", "off", "off", "plain"},
		} {
			var wg sync.WaitGroup
			for _, mode := range modes {
				db := process(mode)
				if dialect == "sqlite" {
					db.SetMaxOpenConns(1)
				}
				wg.Go(func() {
					last := int64(0)
					for range steps {
						if _, err := db.ExecContext(t.Context(), count); err != nil {
							t.Errorf("stage %d, %s: %v", stage, mode, err)
							return
						}
						counted.Add(1)
						var n int64
						if err := db.QueryRowContext(t.Context(), read).Scan(&n); err != nil {
							t.Errorf("stage %d, %s: %v", stage, mode, err)
							return
						}
						if mode == "on" && n < last {
							t.Errorf("stage %d: a total goes from %d to %d", stage, last, n)
						}
						last = n
					}
				})
			}
			wg.Go(func() {
				for range 3 {
					if _, err := slotsql.RollUp(t.Context(), connector(t, p, text(modes[0])), slotsql.RollUpOptions{}); err != nil {
						t.Errorf("stage %d: roll-up: %v", stage, err)
					}
				}
			})
			wg.Wait()
			if t.Failed() {
				return
			}
			on := process("on")
			is(t, fmt.Sprintf("stage %d", stage), rows(t, on, read), fmt.Sprint(10+counted.Load()))
		}
		if _, err := slotsql.Drain(t.Context(), connector(t, p, text("off")), slotsql.DrainOptions{}); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%d %d", 10+counted.Load(), 1+2*counted.Load())
		is(t, "in the end", rows(t, p.Under, fmt.Sprintf("SELECT views, likes FROM %s WHERE id = 1", table)), want)
		if c := counts(dialect, table, ".*"); c.Statements == 0 || c.Differences > c.Behind || failed(c) {
			t.Errorf("%+v", c)
		}
	})
}
