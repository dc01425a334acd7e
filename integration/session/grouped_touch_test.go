package session

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// Touches of one row share statements, and each caller is told how many rows its own would have affected: of those that set the same
// value only the first changes the row, which MySQL tells apart unless the client asks for the rows that are found.
func TestGroupedTouch(t *testing.T) {
	modes := []struct{ dialect, params string }{{"mysql", ""}, {"mysql", "clientFoundRows=true"}, {"postgres", ""}, {"sqlite", ""}}
	for _, m := range modes {
		for name, config := range map[string]string{
			"alone": "{touch: [ip, seen]}", "beside counters": "{counters: {uses: {}}, touch: [ip, seen], slots: 0}",
			"beside slots": "{counters: {uses: {}}, touch: [ip, seen], slots: 8}",
		} {
			t.Run(m.dialect+m.params+"/"+name, func(t *testing.T) {
				p := twin.New(t, twin.Options{
					Dialect: m.dialect, Params: m.params,
					Schema: []string{
						"CREATE TABLE sessions (id INT PRIMARY KEY, ip VARCHAR(40), seen TIMESTAMP NULL, uses INT NOT NULL, open INT NOT NULL)",
						"INSERT INTO sessions VALUES (1, 'none', NULL, 0, 1)",
					},
					Config: "version: 1\nauto_migrate: true\ntables:\n  sessions: " + config + "\n",
				})
				touched(t, p, m.dialect == "mysql" && m.params == "")
			})
		}
	}
}

// touched has a crowd touch the one row of sessions. Changed reports whether only rows that are changed count as affected.
func touched(t *testing.T, p *twin.Pair, changed bool) {
	const times = 10 // for each caller
	p.Wrapped.SetMaxOpenConns(clients)
	p.Wrapped.SetMaxIdleConns(clients)
	touch := func(query string, args ...any) (affected int64) {
		query = twin.Placeholders(p.Dialect, query)
		return affectedByCrowd(t, p, times, func() (string, []any) { return query, args })
	}
	if n := touch("UPDATE sessions SET ip = ? WHERE id = ?", "none", 9); n != 0 {
		t.Errorf("%d rows affected that do not exist", n)
	}
	if n := touch("UPDATE sessions SET ip = ? WHERE id = ? AND open = ?", "guarded", 1, 2); n != 0 || value(t, p.Under, "SELECT ip FROM sessions") != "none" {
		t.Errorf("%d rows affected for which the condition is false", n)
	}
	untilGrouped(t, p.Dialect, func(round int) {
		ip, want := fmt.Sprint("10.0.0.", round), int64(clients*times)
		if changed {
			want = 1
		}
		if n := touch("UPDATE sessions SET ip = ? WHERE id = ? AND open = 1", ip, 1); n != want || value(t, p.Under, "SELECT ip FROM sessions") != ip {
			t.Errorf("%d rows affected by touches with one value, want %d; it is %s now", n, want, value(t, p.Under, "SELECT ip FROM sessions"))
		}
	})
	// Touches with the time: of those in one second only the first changes the row.
	began := time.Now()
	n := touch("UPDATE sessions SET seen = CURRENT_TIMESTAMP WHERE id = ? AND open = ?", 1, 1)
	if most := int64(time.Since(began)/time.Second) + 2; changed && (n < 1 || n > most) || !changed && n != clients*times {
		t.Errorf("%d rows affected by %d touches with the time", n, clients*times)
	}
	last := map[string]bool{}
	for i := range clients {
		last[fmt.Sprint("caller ", i)] = true
	}
	crowd(t, times, func(ctx context.Context, caller, _ int) error {
		_, err := p.Wrapped.ExecContext(ctx, twin.Placeholders(p.Dialect, "UPDATE sessions SET ip = ?, seen = CURRENT_TIMESTAMP WHERE id = ?"), fmt.Sprint("caller ", caller), 1)
		return err
	})
	if ip := value(t, p.Under, "SELECT ip FROM sessions WHERE seen IS NOT NULL"); !last[ip] {
		t.Errorf("ip is %q, which nobody has sent", ip)
	}
}

// affectedByCrowd has the crowd run statements, so many times each, and returns how many rows they have affected in all.
func affectedByCrowd(t *testing.T, p *twin.Pair, times int, next func() (query string, args []any)) int64 {
	t.Helper()
	var all atomic.Int64
	crowd(t, times, func(ctx context.Context, _, _ int) error {
		query, args := next()
		res, err := p.Wrapped.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		all.Add(n)
		return err
	})
	return all.Load()
}

// Touches, and compare and sets, share statements though each has literals of its own.
func TestGroupedLiterals(t *testing.T) {
	for _, dialect := range []string{"mysql", "postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Schema: []string{
					"CREATE TABLE sessions (id INT PRIMARY KEY, ip VARCHAR(40), seen DATE NULL, uses INT NOT NULL, version INT NOT NULL)",
					"INSERT INTO sessions VALUES (1, 'none', NULL, 0, 0)",
				},
				Config: "version: 1\ntables:\n  sessions: {touch: [ip, seen, uses], versions: [version]}\n",
			})
			p.Wrapped.SetMaxOpenConns(clients)
			p.Wrapped.SetMaxIdleConns(clients)
			const times = 10
			var sent atomic.Int64
			run := func(query string) (affected int64) {
				return affectedByCrowd(t, p, times, func() (string, []any) {
					i := sent.Add(1)
					return strings.NewReplacer("[i]", fmt.Sprint(i), "[day]", fmt.Sprintf("%02d", i%28+1)).Replace(query), nil
				})
			}
			if dialect != "mysql" { // which counts the rows changed, so that there touches have to agree
				untilGrouped(t, dialect, func(int) {
					n := run("UPDATE sessions SET ip = 'ip [i]', seen = '2026-01-[day]', uses = [i] WHERE id = 1")
					row := value(t, p.Under, "SELECT CONCAT(ip, ' ', uses, ' ', SUBSTR(CAST(seen AS CHAR(10)), 9)) FROM sessions")
					var ip, uses, day int64
					if _, err := fmt.Sscanf(row, "ip %d %d %d", &ip, &uses, &day); err != nil || n != clients*times || ip != uses || day != ip%28+1 {
						t.Errorf("%d of %d touches affected the row, which is %q now (%v)", n, clients*times, row, err)
					}
				})
			}
			untilGrouped(t, dialect, func(round int) {
				if n := run(fmt.Sprintf("UPDATE sessions SET ip = 'v [i]', version = %d WHERE id = 1 AND version = %d", round+1, round)); n != 1 {
					t.Errorf("%d compare and sets have won", n)
				}
				if ip := value(t, p.Under, "SELECT ip FROM sessions"); !strings.HasPrefix(ip, "v ") {
					t.Errorf("ip is %q, which nobody has sent", ip)
				}
			})
		})
	}
}
