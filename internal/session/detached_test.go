package session

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/slotsql/slotsql/internal/link"
)

// The states of a detached statement: events in, state out.
func TestDetached(t *testing.T) {
	type event = func(*detached)
	given, cancel := context.WithCancel(context.Background())
	cancel()
	var done chan struct{}
	var did []string
	leave := func(d *detached) { done = make(chan struct{}); d.leave(done) }
	end := func(*detached) { close(done) }
	putOff := func(d *detached) {
		if !d.putOff(func() { did = append(did, "put off") }) {
			did = append(did, "at once")
		}
	}
	attach := func(d *detached) { d.attach() }
	await := func(ctx context.Context, want error) event {
		return func(d *detached) {
			if err := d.await(ctx); !errors.Is(err, want) {
				t.Errorf("await: %v, want %v", err, want)
			}
		}
	}
	for _, c := range []struct {
		name    string
		events  []event
		running bool
		did     []string
	}{
		{"attached", nil, false, nil},
		{"nothing to wait for", []event{attach, await(given, nil), putOff}, false, []string{"at once"}},
		{"left", []event{leave}, true, nil},
		{"left, and another statement gives up waiting", []event{leave, putOff, await(given, context.Canceled)}, true, nil},
		{"ended", []event{leave, putOff, end}, false, nil},
		{"ended, and work comes before it is attached", []event{leave, end, putOff}, false, []string{"at once"}},
		{"attached again", []event{leave, putOff, putOff, end, attach}, false, []string{"put off", "put off"}},
		{"attached again once", []event{leave, putOff, end, await(context.Background(), nil), attach}, false, []string{"put off"}},
		{"left twice", []event{leave, putOff, end, attach, leave}, true, []string{"put off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := detached{rare: new(link.Rare)}
			did = nil
			for _, e := range c.events {
				e(&d)
			}
			if d.running() != c.running || !slices.Equal(did, c.did) {
				t.Errorf("running %v, did %q, want %v, %q", d.running(), did, c.running, c.did)
			}
		})
	}
}
