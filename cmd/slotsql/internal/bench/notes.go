package bench

import (
	"fmt"

	"github.com/dustin/go-humanize"
)

// Notes say why numbers are missing, which errors came, and what was exact.
func (r *Report) Notes() []string {
	var n noted
	for i := range r.Points {
		m := &r.Points[i]
		for _, result := range m.Results {
			at := m.Point.String()
			switch result.Outcome {
			case Inexact:
				n.add(result.Scenario, "NOT EXACT, no numbers: "+result.Reason, at, 0)
			case Failed, NotApplicable:
				n.add(result.Scenario, result.Reason, at, 0)
			case Exact:
				if result.Numbers != nil && result.Numbers.Operations == 0 {
					n.add(result.Scenario, "no operation was finished, so there is no ratio", at, 0)
				}
			}
			if result.GaveUp > 0 {
				n.add(result.Scenario, fmt.Sprintf("clients gave up after %d errors in a row", errorsInARow), at, int64(result.GaveUp))
			}
			for _, e := range result.ErrorTexts {
				n.add(result.Scenario, e.Text, at, e.Count)
			}
		}
	}
	list := n.lines(len(r.Points))
	var acknowledged, runs int64
	for i := range r.Points {
		for _, result := range r.Points[i].Results {
			if result.Outcome == Exact {
				acknowledged += result.Acknowledged
				runs += int64(result.Runs)
			}
		}
	}
	if runs > 0 {
		list = append(
			list,
			fmt.Sprintf(
				"Exact in %s: %s "+r.Plan.counted(),
				plural(int(runs), "run"),
				humanize.Comma(acknowledged),
			),
		)
	}
	if r.Interrupted {
		list = append(list, "Interrupted: these are the finished runs.")
	}
	return list
}

// noted gathers what is alike.
type noted []*note

type note struct {
	scenario, what, first string // first: where it came first
	points                int
	times                 int64
}

func (n *noted) add(scenario, what, at string, times int64) {
	for _, known := range *n {
		if known.scenario == scenario && known.what == what {
			known.points++
			known.times += times
			return
		}
	}
	*n = append(*n, &note{scenario, what, at, 1, times})
}

func (n noted) lines(points int) (list []string) {
	for _, v := range n {
		s := v.scenario
		switch {
		case v.points == points: // everywhere
		case v.points == 1:
			s += " at " + v.first
		default:
			s += fmt.Sprintf(" at %d points, the first with %s", v.points, v.first)
		}
		s += ": "
		if v.times > 0 {
			s += humanize.Comma(v.times) + " × "
		}
		list = append(list, s+v.what)
	}
	return list
}
