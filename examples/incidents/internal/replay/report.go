package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/slotsql/slotsql/examples/internal/pageviews"
)

// report prints how the sides have done, and compares their totals.
func report(ctx context.Context, in Incident, sides []*Side, out io.Writer) error {
	engine := map[string]string{"mysql": "MariaDB or MySQL", "postgres": "PostgreSQL"}[sides[0].engine]
	fmt.Fprintf(out, "%s on %s: %d processes of %d clients, %v round trip\n\n", in.Name, engine, in.Processes, in.Clients, in.RoundTrip)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\toperations a second\tp99\tsessions waiting\terrors")
	for _, s := range sides {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", s.name, humanize.Comma(int64(s.rate())), pageviews.Short(s.p99()), s.waiting, s.errors())
	}
	fmt.Fprintf(table, "\t%.1f times plain\n\t\n", sides[1].rate()/max(sides[0].rate(), 1))
	exact := true
	for _, s := range sides {
		for _, t := range in.Totals(s) {
			var have int64
			if err := s.totals.QueryRowContext(ctx, t.Query).Scan(&have); err != nil {
				return errors.Join(fmt.Errorf("%s: %s: %w", s.name, t.Query, err), table.Flush())
			}
			verdict := "exact"
			if !slices.Contains(t.Want, have) {
				exact, verdict = false, fmt.Sprintf("WRONG: %+d", have-t.Want[0])
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.name, t.Name, humanize.Comma(have), verdict)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !exact {
		return errors.New("a total is wrong")
	}
	return nil
}

func (s *Side) rate() float64 { return float64(s.Done()) / max(s.ran.Seconds(), 1e-9) }

func (s *Side) p99() time.Duration {
	var all []time.Duration
	for _, c := range s.Clients {
		all = append(all, c.took...)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// errors returns how many errors there were of each kind, the most frequent first.
func (s *Side) errors() string {
	counts := map[string]int{}
	for _, c := range s.Clients {
		for kind, n := range c.failed {
			counts[kind] += n
		}
	}
	var list []string
	for _, kind := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Compare(counts[b], counts[a]) }) {
		list = append(list, fmt.Sprintf("%s (%d times)", kind, counts[kind]))
	}
	return cmp.Or(strings.Join(list, ", "), "none")
}
