package session

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// TestUnsignedValues: go-sql-driver/mysql gives values of BIGINT UNSIGNED as uint64, and as int64,
// or digits beyond its range, where it prepares the statement. Statements whose rows come from a
// statement of slotsql's own, which may be sent in the other way, give what plain gives; numbers
// drawn in a group are each caller's own in either type.
func TestUnsignedValues(t *testing.T) {
	const (
		upsert = "INSERT INTO seq (name, n) VALUES ('order', 1) ON DUPLICATE KEY UPDATE n = n + 1 RETURNING n"
		bound  = "INSERT INTO seq (name, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + 1 RETURNING n"
	)
	for _, params := range []string{"", "interpolateParams=true"} {
		for _, slots := range []string{"64", "0"} {
			t.Run("slots "+slots+" "+params, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: "mysql", Params: params,
					Schema: []string{
						"CREATE TABLE seq (name VARCHAR(20) PRIMARY KEY, n BIGINT UNSIGNED NOT NULL)",
						"INSERT INTO seq VALUES ('order', 10), ('big', 18446744073709551000)",
					},
					Config: "version: 1\nauto_migrate: true\ntables: {seq: {counters: {n: {}}}}\ndefaults: {placement: adaptive, slots: " + slots + "}\n",
				})
				for _, prepared := range []bool{false, true} {
					for _, s := range []twin.Statement{
						{SQL: "SELECT n FROM seq WHERE name = 'order' FOR UPDATE"},
						{SQL: "SELECT n FROM seq WHERE name = 'big' FOR UPDATE"},
						{SQL: "SELECT n FROM seq WHERE name = ? FOR UPDATE", Args: []any{"big"}},
						{SQL: "SELECT n FROM seq ORDER BY name"},
					} {
						s.Prepared = prepared
						for range 3 {
							p.Same(t, s)
						}
					}
					for _, s := range []twin.Statement{{SQL: upsert}, {SQL: bound, Args: []any{"order"}}} {
						s.Prepared = prepared
						// In turn on the plain side, in groups on the other.
						plain, wrapped := drawnBy(t, p.Plain, s), drawnBy(t, p.Wrapped, s)
						if !slices.Equal(plain, wrapped) {
							t.Errorf("prepared %v: plain %v, wrapped %v\n%s", prepared, plain, wrapped, s.SQL)
						}
					}
				}
			})
		}
	}
}

// drawnBy returns the values that a crowd of callers draws, with their types, in order.
func drawnBy(t *testing.T, db *sql.DB, s twin.Statement) (out []string) {
	t.Helper()
	var mu sync.Mutex
	crowd(t, 8, func(ctx context.Context, _, _ int) error {
		o := twin.Run(ctx, db, s)
		if o.Err != nil {
			return o.Err
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, fmt.Sprintf("%[1]T %03[1]v", o.Sets[0].Rows[0][0]))
		return nil
	})
	slices.Sort(out)
	return out
}
