package session

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/config"
	"github.com/slotsql/slotsql/internal/slots"
)

// clustered is a dialect whose connections are on nodes in turn.
type clustered struct {
	leasing
	names []string // "" for a server in no cluster
	asked int
	fails error
}

func (d *clustered) Node(context.Context, dialect.Session) (string, error) {
	d.asked++
	return d.names[(d.asked-1)%len(d.names)], d.fails
}

// connections opens some of one connector.
func (d *clustered) connections(t *testing.T, number int) (out []*Conn) {
	t.Helper()
	cfg, err := config.Parse([]byte("version: 1\ndefaults: {slots: 64, placement: connection}\ntables: {posts: {counters: {views: {}}}}\n"), "slotsql.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := New(d, cfg)
	for range number {
		c, err := NewConn(t.Context(), s, &countConn{server: &countServer{}})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// The nodes of a cluster begin apart from each other, with leases or without.
func TestNodesBeginApart(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"leases": nil, "no leases": errors.New("no such table")} {
		d := &clustered{leasing: leasing{Engine: fake.Probing, held: map[string]string{}, err: err}, names: []string{"a", "b", "c"}}
		conns := d.connections(t, 6)
		for i, c := range conns {
			if same := conns[(i+3)%6]; c.node != same.node {
				t.Errorf("%s: two connections to node %d are told apart", name, i%3)
			}
			for _, other := range []*Conn{conns[(i+1)%6], conns[(i+2)%6]} {
				distance := c.node.Range.Slot(0, 64) - other.node.Range.Slot(0, 64)
				if distance = (distance + 64) % 64; distance < 15 || distance > 49 {
					t.Errorf("%s: nodes begin %d slots from each other", name, distance)
				}
			}
		}
	}
}

// Connections to two nodes neither share statements nor know of each other's
// slot rows.
func TestNodesShareNothing(t *testing.T) {
	t.Parallel()
	d := &clustered{leasing: leasing{Engine: fake.Probing, held: map[string]string{}}, names: []string{"a", "b"}}
	conns := d.connections(t, 3)
	const text = "UPDATE posts SET views = views + 1 WHERE id = 1"
	var keys []string
	var places []slots.Place
	for _, c := range conns {
		p, err := c.Plan(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		r := c.newRun(p, direct{c}, call{})
		args, ok := r.args().Common(nil, p.Increment.Coalesced.Upsert.Args)
		if !ok {
			t.Fatal("not shared")
		}
		keys = append(keys, fmt.Sprintf("%s with %s with peers %d", r.sql(&p.Increment.Coalesced.Upsert), args, c.peers()))
		places = append(places, incrementOf(r).place())
	}
	if keys[0] == keys[1] || keys[0] != keys[2] {
		t.Errorf("shared by %v", keys)
	}
	if places[0].Row == places[1].Row || places[0].Row != places[2].Row || places[0].Slot == places[1].Slot {
		t.Errorf("places %v", places)
	}
}

// Where the server is in no cluster one connection asks; who cannot tell goes
// on with the slots of the process.
func TestNoNodes(t *testing.T) {
	t.Parallel()
	d := &clustered{leasing: leasing{Engine: fake.Probing, held: map[string]string{}}, names: []string{""}}
	if conns := d.connections(t, 3); d.asked != 1 || conns[0].node != conns[2].node {
		t.Errorf("asked %d times", d.asked)
	}
	d = &clustered{leasing: leasing{Engine: fake.Probing, held: map[string]string{}}, names: []string{"a", "b"}, fails: errOops}
	if conns := d.connections(t, 2); conns[0].node != conns[1].node {
		t.Error("a node without a name")
	}
}
