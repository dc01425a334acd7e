package link

import "testing"

// Whether a session is as the connector opened it: events in, state out.
func TestOrigin(t *testing.T) {
	t.Parallel()
	known, unknown := func(o *Origin) { o.SetRole(true) }, func(o *Origin) { o.SetRole(false) }
	for _, c := range []struct {
		name                      string
		events                    []func(*Origin)
		dirty, set, unknown, rows bool
	}{
		{name: "as opened"},
		{name: "SET", events: []func(*Origin){(*Origin).Change}, dirty: true},
		{name: "SET, reset", events: []func(*Origin){(*Origin).Change, (*Origin).Reset}, dirty: true},
		{name: "a query", events: []func(*Origin){(*Origin).Query}, rows: true},
		{name: "a query, reset", events: []func(*Origin){(*Origin).Query, (*Origin).Reset}},
		{name: "SET ROLE, rights asked", events: []func(*Origin){known}, set: true},
		{name: "SET ROLE, rights as facts", events: []func(*Origin){unknown}, set: true, unknown: true},
		{name: "SET ROLE twice", events: []func(*Origin){unknown, known}, set: true, unknown: true},
	} {
		var o Origin
		for _, e := range c.events {
			e(&o)
		}
		if o.Dirty() != c.dirty || o.RoleSet() != c.set || o.RoleUnknown() != c.unknown || o.RowsOpen() != c.rows {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}
