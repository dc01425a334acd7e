package upkeep

import (
	"fmt"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// After "slots" has become less, slot rows with higher numbers are no finding each,
// and nothing is wrong: they are reported as one, with their number, and can be folded.
func TestVerifyAfterFewerSlots(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		for _, layout := range []string{"dedicated", "shared"} {
			if layout == "shared" && dialect == "sqlite" {
				continue // its columns hold any number, and so other programs may use any
			}
			record := map[string]string{"dedicated": "{}", "shared": "{record_type: 1}"}[layout]
			p := twin.New(t, twin.Options{
				Dialect: dialect,
				Params:  patience[dialect],
				Config:  "version: 1\nauto_migrate: true\ntables: {posts: {slots: 16, layout: " + layout + ", counters: {views: " + record + "}}}\n",
				Schema:  []string{"CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL)"},
			})
			if err := p.Wrapped.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			for id := range 30 {
				execAll(t, p.Under, fmt.Sprintf("INSERT INTO posts VALUES (%d, 100)", id))
				for slot := 15; slot < 64; slot += 16 {
					q := "INSERT INTO posts_slots (id, slot, views) VALUES (%d, %d, 1)"
					if layout == "shared" {
						q = "INSERT INTO slotted_counters (record_type, record_id, slot, count) VALUES (1, %d, %d, 1)"
					}
					execAll(t, p.Under, fmt.Sprintf(q, id, slot))
				}
			}
			for _, fix := range []bool{false, true} {
				reports, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{Fix: fix})
				if err != nil || len(reports) != 1 || len(reports[0].Findings) != 1 {
					t.Fatalf("%s: %+v, %v", layout, reports, err)
				}
				f := reports[0].Findings[0]
				if f.Kind != slotsql.FindingSlot || !f.Info || f.Fixed != fix || f.Rows != 30 || f.Slots != 90 || f.Key["id"] == "" ||
					reports[0].Wrong() != 0 {
					t.Errorf("%s, fix %v: %+v", layout, fix, f)
				}
				want(t, layout+": totals", rows(t, p.Wrapped, "SELECT SUM(views) FROM posts"), "3120")
			}
			if reports, err := slotsql.Verify(t.Context(), twin.Connector(t, p), slotsql.VerifyOptions{}); err != nil ||
				len(reports[0].Findings) > 0 {
				t.Errorf("%s: after they have been folded: %+v, %v", layout, reports, err)
			}
		}
	})
}
