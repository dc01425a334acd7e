package link

import "testing"

// Whether a session's settings are as the connector opened it: events in, bit out.
func TestSettings(t *testing.T) {
	t.Parallel()
	type event = func(*Settings)
	same, others := func(s *Settings) { s.Compare(true) }, func(s *Settings) { s.Compare(false) }
	change, hook := (*Settings).Change, (*Settings).Hook
	for _, c := range []struct {
		name    string
		events  []event
		changed bool
	}{
		{"as opened", nil, false},
		{"SET", []event{change}, true},
		{"SET, found the same", []event{change, same}, true},
		{"a hook", []event{hook}, true},
		{"a hook, found the same", []event{hook, same}, false},
		{"a hook, found others", []event{hook, others}, true},
		{"a hook, found others, once more", []event{hook, others, hook, same}, false},
		{"SET, a hook, found the same", []event{change, hook, same}, true},
	} {
		s := Settings{rare: new(Rare)}
		for _, e := range c.events {
			e(&s)
		}
		if s.rare.Any(ChangedSettings) != c.changed {
			t.Errorf("%s: %v", c.name, !c.changed)
		}
	}
}
