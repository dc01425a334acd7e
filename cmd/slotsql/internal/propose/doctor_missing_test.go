package propose_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/doctor"
	"github.com/slotsql/slotsql/integration/golden"
	"github.com/slotsql/slotsql/integration/twin"
)

// A column that statements add to, of a table that is configured without it, is
// named, with the lines to add; one that is configured is not proposed again.
func TestDoctorFindsMissingCounter(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := doctorPair(t, dialect)
		config, err := slotsql.Parse([]byte(golden.WithSlots("version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}}}}\n")), "slotsql.yaml")
		if err != nil {
			t.Fatal(err)
		}
		contend(t, p, "UPDATE posts SET seen = seen + 1 WHERE id = 7",
			"UPDATE posts SET seen = seen + 2 WHERE id = 7", "UPDATE posts SET views = views + 1 WHERE id = 7")
		r := seen(t, p, 2, doctor.Options{Config: config})
		if len(r.Spots) != 1 {
			t.Fatalf("%+v", r)
		}
		s := r.Spots[0]
		if s.Verdict != "configured" || !strings.Contains(s.Why, "add to seen, which is not among the table's configured counters") {
			t.Errorf("%s: %s", s.Verdict, s.Why)
		}
		if !strings.Contains(r.Propose, "seen:") || strings.Contains(r.Propose, "views:") {
			t.Errorf("proposed:\n%s", r.Propose)
		}
	})
}

// withUser returns a DSN of PostgreSQL, a URL or keywords, with another user,
// wherever the DSN names its own, if it does.
func withUser(t *testing.T, dsn, user string) string {
	t.Helper()
	if !strings.Contains(dsn, "://") {
		return dsn + " user=" + user // the last one counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = nil
	q := u.Query()
	q.Set("user", user)
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String()
}
