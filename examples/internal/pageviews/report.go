package pageviews

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// report prints for a terminal of 80 columns, without control characters.
type report struct{ out io.Writer }

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *report) intro(e Engine, o Options) {
	r.prose(fmt.Sprintf("A page-view application on %s with %d connections: first with the driver %q, then with %q, about %v each.",
		e.Title, o.Connections, e.Plain, e.Wrapped, (6 * o.Duration).Round(time.Second)))
}

// began tells what a driver does with one row, while the rest is still to come.
func (r *report) began(o *outcome) {
	r.printf("%s: %s increments of one row a second", o.driver, humanize.Comma(o.counted.perSecond))
}

// hotRow prints what one statement does on one row.
func (r *report) hotRow(e Engine, plain, wrapped *outcome) {
	r.printf("\n%-38s %12s %16s %9s", "one hot row, as fast as it goes", plain.driver, wrapped.driver, "gain")
	for _, row := range []struct {
		what string
		a, b int64
	}{
		{"increments (UPDATE) /s", plain.counted.perSecond, wrapped.counted.perSecond},
		{"numbers drawn (UPDATE, number) /s", plain.drawn.perSecond, wrapped.drawn.perSecond},
	} {
		r.printf("%-38s %12s %16s %8.1fx", row.what, humanize.Comma(row.a), humanize.Comma(row.b), float64(row.b)/float64(max(row.a, 1)))
	}
	r.printf("")
	r.prose("On " + e.Title + " expect " + e.Gain + " times as many increments; less while other programs use the machine.")
}

// latencies prints how long requests took that came at the same rate for both.
func (r *report) latencies(plain, wrapped *outcome) {
	r.printf("%-22s %27s %27s", "requests offered", plain.driver+": p50, p99", wrapped.driver+": p50, p99")
	for i, rate := range plain.rates {
		r.printf("%20s/s %27s %27s", humanize.Comma(int64(rate)), waits(plain.at[i]), waits(wrapped.at[i]))
	}
	r.printf("")
	r.prose("Latency counts from the moment that a request comes, whether or not a connection is free. \"Behind\" is how late the last one was sent.")
}

func waits(o *offered) string {
	if o.keptUp() {
		return Short(o.quantile(.5)) + ", " + Short(o.quantile(.99))
	}
	return "behind by " + Short(max(o.behind, o.quantile(.99)))
}

// Short writes a latency in two digits or three.
func Short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
}

// totals compares what the application reads with what it was told.
func (r *report) totals(runs ...*outcome) (exact bool) {
	exact = true
	r.printf("%-38s %12s %16s", "exact totals", "acknowledged", "read back")
	for _, o := range runs {
		for _, c := range []struct {
			what       string
			want, have int64
		}{
			{"views", o.acknowledged[view], o.hot.Views},
			{"visits", o.acknowledged[visit], o.hot.Visits},
			{"rows in the log", o.acknowledged[visit], o.logged},
			{"last number drawn", o.drawn.times, o.drawn.last},
		} {
			verdict := "ok"
			if c.want != c.have {
				exact, verdict = false, "WRONG"
			}
			r.printf("%-38s %12s %16s %9s", o.driver+": "+c.what, humanize.Comma(c.want), humanize.Comma(c.have), verdict)
		}
	}
	r.printf("")
	return exact
}

// verdict is the last line: what each driver keeps up with, and what is gained where nothing queues.
func (r *report) verdict(plain, wrapped *outcome, exact bool) {
	disturbed := false // by other programs: a lower rate was too much
	most := func(o *outcome) (rate int) {
		for i, at := range o.at {
			if at.keptUp() {
				disturbed = disturbed || i > 0 && !o.at[i-1].keptUp()
				rate = max(rate, o.rates[i])
			}
		}
		return rate
	}
	p, w := most(plain), most(wrapped)
	text := fmt.Sprintf("Verdict: plain keeps up with %s, slotsql with %s", perSecond(p), perSecond(w))
	switch last := len(plain.rates) - 1; {
	case w > p && w == wrapped.rates[last]:
		text += " (the most that was offered)"
	case w == p:
		text += ": no gain here"
	case w < p:
		text += ": a loss here"
	}
	text += "."
	switch low := plain.rates[0]; {
	case disturbed || p == 0 || w == 0:
		text += " Other programs disturbed this run, which even lower rates were too much for: run it again."
	default:
		text += fmt.Sprintf(" At %s, where hardly anything queues, there is nothing to gain.", perSecond(low))
	}
	if exact {
		text += " All totals are exact."
	} else {
		text += " A TOTAL IS WRONG."
	}
	r.wrap(text)
}

// perSecond writes a rate of requests.
func perSecond(rate int) string {
	if rate == 0 {
		return "none of these rates"
	}
	return humanize.Comma(int64(rate)) + " requests a second"
}

func (r *report) prose(text string) {
	r.wrap(text)
	r.printf("")
}

// wrap prints words in lines that fit the terminal.
func (r *report) wrap(text string) {
	const width = 78
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			r.printf("%s", line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	r.printf("%s", line)
}
