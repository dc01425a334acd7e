package link

import "testing"

// The states of a drain: events in, state out.
func TestDrain(t *testing.T) {
	begin := func(d *Drain) { d.Begin() }
	for _, c := range []struct {
		name   string
		events []func(*Drain)
		want   Drain
	}{
		{"at first", nil, NoDrain},
		{"begun", []func(*Drain){begin}, DrainUnderWay},
		{"begun twice", []func(*Drain){begin, begin}, DrainUnderWay},
		{"guarded", []func(*Drain){begin, (*Drain).Guard}, DrainGuarded},
		{"guarded, and a second table", []func(*Drain){begin, (*Drain).Guard, begin}, DrainGuarded},
		{"a preparation without a drain", []func(*Drain){(*Drain).Guard}, NoDrain},
		{"ended", []func(*Drain){begin, (*Drain).Guard, (*Drain).End}, NoDrain},
		{"failed", []func(*Drain){begin, (*Drain).Guard, (*Drain).Fail}, DrainHalfDone},
		{"failed, in the application's transaction", []func(*Drain){begin, (*Drain).Fail, (*Drain).End, begin, (*Drain).Guard}, DrainHalfDone},
		{"failed, and rolled back", []func(*Drain){begin, (*Drain).Fail, (*Drain).Undo}, DrainUnderWay},
		{"failed, and rolled back with the statement's end", []func(*Drain){begin, (*Drain).Fail, (*Drain).Undo, (*Drain).End}, NoDrain},
		{"nothing to undo", []func(*Drain){begin, (*Drain).Guard, (*Drain).Undo}, DrainGuarded},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Drain
			for _, e := range c.events {
				e(&d)
			}
			if d != c.want || d.UnderWay() != (c.want != NoDrain) || d.HalfDone() != (c.want == DrainHalfDone) {
				t.Errorf("state %d, want %d", d, c.want)
			}
		})
	}
	var d Drain
	if !d.Begin() || d.Begin() {
		t.Error("Begin must report true once")
	}
}
