package session

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/integration/fake"
)

// A parent that asks for its connection to be replaced, as go-sql-driver does
// with rejectReadOnly=true after a failover, is heard before anything of the
// statement has been applied: database/sql takes another connection.
func TestReplacedConnection(t *testing.T) {
	t.Parallel()
	for way, d := range fake.Ways {
		for name, sc := range map[string]scenario{
			"drain":          scenarios["drain"],
			"query drain":    scenarios["query drain"],
			"prepared drain": scenarios["prepared drain"],
			"fallback":       scenarios["fallback"],
		} {
			server := &fake.Server{Affected: sc.affected}
			db := openFake(t, d, fake.Connector{Server: server})
			server.Arm(nil)
			if err := sc.run(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			for k, query := range server.Ran() {
				if word, _, _ := strings.Cut(query, " "); word == "COMMIT" || word == "RELEASE" {
					break // it may have been applied
				}
				fresh := &fake.Server{Affected: sc.affected}
				db := openFake(t, d, fake.Connector{Server: fresh})
				failed := false
				fresh.Arm(func(step int, _ string) *fake.Misfortune {
					if step == k && !failed {
						failed = true
						return &fake.Misfortune{Err: driver.ErrBadConn, Kill: true}
					}
					return nil
				})
				if err := sc.run(context.WithoutCancel(t.Context()), db); err != nil {
					t.Errorf("%s, %s: %s: %v", way, name, query, err)
				}
				for _, effect := range sc.effects {
					if n := fresh.CountPrefix(effect); n != 1 {
						t.Errorf("%s, %s: %s: applied %d times", way, name, query, n)
					}
				}
			}
		}
	}
}
