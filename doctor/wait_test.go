package doctor

import (
	"slices"
	"testing"
	"time"
)

// The row that has lost most time comes first, however many have waited for others.
func TestSpotsRankByTimeLost(t *testing.T) {
	t.Parallel()
	waited := func(id string, lost time.Duration, looks ...int) *wait {
		return &wait{table: "posts", key: map[string]string{"id": id}, lost: lost, looks: looks}
	}
	l := looker{waits: []*wait{
		waited("1", time.Second, 1), waited("1", time.Second, 1), waited("1", time.Second, 2),
		waited("2", 5*time.Second, 1, 2),
		waited("3", 3*time.Second, 2),
	}}
	var got []string
	for _, s := range l.spots() {
		got = append(got, s.Key["id"])
	}
	if want := []string{"2", "1", "3"}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}
