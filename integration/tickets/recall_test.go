package tickets

import (
	"strings"
	"testing"
	"time"
)

// Statements of all kinds that set the counter lower wait: with rows to return, prepared, several in one
// call, without the plan that slotsql would have (slotsql: off). One that does not set it lower does not.
func TestRecalls(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		least := 450 * time.Millisecond
		if dialect == "sqlite" {
			least = 45 * time.Millisecond
		}
		o := open(t, dialect, "BIGINT NOT NULL", "100", 1)
		o.exec(o.p.Under, "UPDATE queues SET next = 1000")
		db := o.processes[0]
		run := func(query string, args ...any) time.Duration {
			start := time.Now()
			var err error
			if dialect != "mysql" && strings.Contains(query, "RETURNING") {
				var n int64
				err = db.QueryRowContext(t.Context(), query, args...).Scan(&n)
			} else {
				_, err = db.ExecContext(t.Context(), query, args...)
			}
			if err != nil {
				t.Errorf("%s: %v", query, err)
			}
			return time.Since(start)
		}
		lowers := []string{
			"UPDATE queues SET next = 900 WHERE id = 1",
			"UPDATE queues SET next = next - 1 WHERE id = 1",
			"UPDATE queues SET next = next - 1",
			"/* slotsql: off */ UPDATE queues SET next = 800 WHERE id = 1",
			"DELETE FROM queues WHERE id = 7",
		}
		if dialect != "mysql" {
			lowers = append(lowers, "UPDATE queues SET next = 700 WHERE id = 1 RETURNING next")
		}
		if dialect != "sqlite" {
			lowers = append(lowers, "TRUNCATE TABLE queues")
		}
		for _, query := range lowers {
			if took := run(query); took < least {
				t.Errorf("%s took %v", query, took)
			}
		}
		// A statement that has to wait does so each time; a busy machine does not delay each of so many as long.
		atOnce := func(query string, args func(i int) []any) {
			t.Helper()
			quickest := time.Hour
			for i := range 20 {
				quickest = min(quickest, run(o.sql(query), args(i)...))
			}
			if quickest >= least {
				t.Errorf("%s took %v", query, quickest)
			}
		}
		none := func(int) []any { return nil }
		atOnce("INSERT INTO queues (id, next) VALUES (?, 50)", func(i int) []any { return []any{100 + i} })
		if dialect != "sqlite" {
			o.exec(db, "INSERT INTO queues (id, next) VALUES (1, 50)")
		}
		atOnce("UPDATE queues SET next = next + ? WHERE id = 1", func(int) []any { return []any{3} })
		if took := run(o.sql("UPDATE queues SET next = next - ? WHERE id = 1"), 3); took < least {
			t.Errorf("a negative step took %v", took)
		}
		st, err := db.PrepareContext(t.Context(), o.sql("UPDATE queues SET next = ? WHERE id = 1"))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		start := time.Now()
		if _, err := st.ExecContext(t.Context(), 40); err != nil || time.Since(start) < least {
			t.Errorf("prepared: %v after %v", err, time.Since(start))
		}
		if base := o.base(); base != 40 {
			t.Errorf("the base row has %d", base)
		}
		for _, query := range []string{
			"UPDATE queues SET next = next + 5", "UPDATE queues SET name = 'z' WHERE id = 1", "SELECT next FROM queues",
		} {
			atOnce(query, none)
		}
	})
}
