package slotsql

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"
)

// A parent that says that its connection is to be replaced, as go-sql-driver does
// with rejectReadOnly=true after a failover, is heard before anything of the
// statement has been applied: database/sql takes another connection.
func TestReplacedConnection(t *testing.T) {
	t.Parallel()
	for way, d := range ways {
		for name, sc := range map[string]scenario{
			"drain":          scenarios["drain"],
			"query drain":    scenarios["query drain"],
			"prepared drain": scenarios["prepared drain"],
			"fallback":       scenarios["fallback"],
		} {
			server := &fakeServer{affected: sc.affected}
			db := openFaulty(t, d, server)
			server.arm(nil)
			if err := sc.run(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			for k, text := range server.ran() {
				if word, _, _ := strings.Cut(text, " "); word == "COMMIT" || word == "RELEASE" {
					break // it may have been applied
				}
				fresh := &fakeServer{affected: sc.affected}
				db := openFaulty(t, d, fresh)
				failed := false
				fresh.arm(func(step int, _ string) *misfortune {
					if step == k && !failed {
						failed = true
						return &misfortune{err: driver.ErrBadConn, kill: true}
					}
					return nil
				})
				if err := sc.run(context.WithoutCancel(t.Context()), db); err != nil {
					t.Errorf("%s, %s: %s: %v", way, name, text, err)
				}
				for _, effect := range sc.effects {
					if n := fresh.countPrefix(effect); n != 1 {
						t.Errorf("%s, %s: %s: applied %d times", way, name, text, n)
					}
				}
			}
		}
	}
}
